// Steps from a model that is one round old: on weights that a round brings a part of the way to
// their optimum, alone and side by side.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/linear/late_steps.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn::linear {
namespace {

constexpr double kParts[] = {0.02, 0.1, 0.25, 0.5, 0.8, 1.0};
constexpr std::size_t kSize = std::size(kParts);

// Weights whose optimum is 0, one for each part, all 1 at first.
class Iteration {
 public:
  void round() {
    const std::vector<double> before = w_;
    for (std::size_t i = 0; i < kSize; ++i) w_[i] -= kParts[i] * reads_[i];
    steps_.step(before, w_);
    reads_ = before;
  }
  const std::vector<double>& w() const { return w_; }
  LateSteps& steps() { return steps_; }

 private:
  std::vector<double> w_ = std::vector<double>(kSize, 1), reads_ = w_;
  LateSteps steps_;
};

// The last round of the lagged iteration has no use of its own: one more than without a lag.
TEST(LateSteps, NeedFewRoundsMoreThanStepsWithoutALag) {
  constexpr double kNear = 0.05;
  Iteration lagged;
  std::vector<int> rounds(kSize, 0);
  for (int t = 1; t <= 300; ++t) {
    lagged.round();
    for (std::size_t i = 0; i < kSize; ++i) {
      if (std::abs(lagged.w()[i]) > kNear) rounds[i] = t + 1;
    }
  }
  for (std::size_t i = 0; i < kSize; ++i) {
    const int without =
        kParts[i] == 1 ? 1 : static_cast<int>(std::log(kNear) / std::log(1 - kParts[i])) + 1;
    EXPECT_LE(rounds[i], without + 4) << kParts[i];
  }
}

TEST(LateSteps, EndTheSwingOfWholeSteps) {
  double w = 1, reads = 1;
  for (int t = 0; t < 30; ++t) w -= std::exchange(reads, w);
  EXPECT_GT(std::max(std::abs(w), std::abs(reads)), 0.9);  // whole steps go on swinging
  Iteration lagged;
  for (int t = 0; t < 30; ++t) lagged.round();
  EXPECT_LT(std::abs(lagged.w().back()), 1e-6);
}

TEST(LateSteps, GoOnFromAStateWithTheSameBits) {
  Iteration whole;
  for (int t = 0; t < 4; ++t) whole.round();
  State state;
  whole.steps().save(state);
  const TemporaryFolder folder;
  job::write_state(folder / "state", state, 4);
  Iteration resumed = whole;
  resumed.steps().clear();
  resumed.steps().load(data::SafetensorsFile(folder / "state"), kSize);
  Iteration cleared = whole;
  cleared.steps().clear();
  for (Iteration* each : {&whole, &resumed, &cleared}) each->round();
  EXPECT_EQ(resumed.w(), whole.w());
  EXPECT_NE(cleared.w(), whole.w());
}

}  // namespace
}  // namespace meanwhile::learn::linear
