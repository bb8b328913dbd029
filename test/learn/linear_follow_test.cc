// The next penalty of a path: L-BFGS first tries the step that the weights took before.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "test/learn/linear_data.h"

namespace meanwhile::learn::linear {
namespace {

using test::on;

struct SavedModel {
  TemporaryFolder folder;
  explicit SavedModel(const RoundLearner& learner) {
    job::write_state(folder / "model", learner.state(), 0);
  }
  data::SafetensorsFile file() const { return data::SafetensorsFile(folder / "model"); }
};

struct Walk {
  const char* name;
  Kind kind;
  std::size_t classes = 2;
  double l1 = 0;
};
void PrintTo(const Walk& walk, std::ostream* out) { *out << walk.name; }

class LinearFollow : public testing::TestWithParam<Walk> {
 protected:
  // Classes that a plane parts: weights grow evenly as the penalty falls.
  LinearFollow()
      : data_(test::dataset(test::rows_for(GetParam().classes, 300, 40, 11, 0.4, 0))),
        first_(trained(1e-2)),
        second_(trained(1e-3)) {}

  static Parameters at(double l2, double tol = 1e-5) {
    Parameters p;
    p.solver = Solver::kLbfgs, p.l2 = l2, p.l1 = GetParam().l1, p.tol = tol, p.max_iter = 2000;
    return p;
  }
  Linear learner(double l2, double tol = 1e-5) const { return {GetParam().kind, at(l2, tol)}; }
  std::unique_ptr<SavedModel> trained(double l2) const {
    Linear made = learner(l2);
    test::train(made, data_);
    return std::make_unique<SavedModel>(made);
  }

  const data::Dataset data_;
  const std::unique_ptr<SavedModel> first_, second_;
};

TEST_P(LinearFollow, ReachesTheOptimum) {
  Linear cold = learner(1e-4, 1e-10);
  const double optimum = test::train(cold, data_).result.objective;
  for (const double share : {0.1, 1.0, 50.0}) {  // the last is far too long
    Linear next = learner(1e-4, 1e-10);
    next.follow(first_->file(), second_->file(), share);
    EXPECT_NEAR(test::train(next, data_).result.objective, optimum, 1e-6 * optimum) << share;
  }
}

TEST_P(LinearFollow, AStepThatLeadsUpIsNotTaken) {
  Linear next = learner(1e-4);
  next.follow(first_->file(), second_->file(), -1);
  const auto trained = test::train(next, data_);
  EXPECT_LT(trained.rounds[1].outcome.objective, trained.rounds[0].outcome.objective);
}

TEST_P(LinearFollow, AnInterruptBeforeTheStepChangesNoBit) {
  Linear whole = learner(1e-4);
  whole.follow(first_->file(), second_->file(), 1);
  const auto all = test::train(whole, data_, on(3)).result;
  Linear cut = learner(1e-4);
  cut.follow(first_->file(), second_->file(), 1);
  std::atomic<bool> stop = false;
  const auto part =
      job::train(cut, data_, on(3), nullptr, &stop, [&](const job::RoundEvent&) { stop = true; });
  ASSERT_TRUE(part.interrupted);
  Linear rest = learner(1e-4);
  rest.restore(SavedModel(cut).file());
  job::TrainOptions options = on(3);
  options.rounds_done = part.rounds;
  EXPECT_EQ(job::train(rest, data_, options).model_sha256, all.model_sha256);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LinearFollow,
                         testing::Values(Walk{"logistic", Kind::kLogistic},
                                         Walk{"softmax", Kind::kLogistic, 4},
                                         Walk{"owlqn", Kind::kLogistic, 2, 1e-3},
                                         Walk{"linear", Kind::kLinear, 0}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(LinearFollowing, TheStepBeforeSavesRounds) {
  const data::Dataset data = test::dataset(test::rows_for(2, 300, 400, 12, 0.2, 0));
  const auto learner = [](double l2) {
    Parameters p;
    p.solver = Solver::kLbfgs, p.l2 = l2, p.tol = 1e-3, p.max_iter = 1000;
    return Linear(Kind::kLogistic, p);
  };
  Linear first = learner(1e-4), second = learner(1e-5);
  test::train(first, data);
  const SavedModel earlier(first);
  second.start_from(earlier.file());
  test::train(second, data);
  const SavedModel last(second);
  Linear warm = learner(1e-6), next = learner(1e-6);
  warm.start_from(last.file());
  next.follow(earlier.file(), last.file(), 1);
  const auto by_start = test::train(warm, data).result, by_step = test::train(next, data).result;
  EXPECT_LT(1.3 * static_cast<double>(by_step.rounds), static_cast<double>(by_start.rounds));
  EXPECT_LT(by_step.objective, 1.01 * by_start.objective);
}

}  // namespace
}  // namespace meanwhile::learn::linear
