// The quality that averaging and sampled gradients reach, by themselves and before L-BFGS.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "test/learn/linear_serial.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using test::on;
using test::SerialLinear;
using test::Storage;

double optimum_of(const SerialLinear& problem) {
  SerialLinear rounded = problem;
  if (problem.loss == "hinge") rounded.rounding = 5e-3;
  return problem.objective(rounded.solve(1500));
}

struct Case {
  const char* name;
  Kind kind;
  const char* loss;
  std::size_t classes;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
constexpr Case kCases[] = {{"hinge", Kind::kSvm, "hinge", 2},
                           {"squared_hinge", Kind::kSvm, "squared_hinge", 2},
                           {"logistic", Kind::kLogistic, "logistic", 2},
                           {"softmax", Kind::kLogistic, "logistic", 4},
                           {"squared", Kind::kLinear, "squared", 0},
                           {"huber", Kind::kLinear, "huber", 0}};

class LinearSgd : public testing::TestWithParam<Case> {
 protected:
  LinearSgd()
      : c_(GetParam()),
        data_(test::rows_for(c_.classes, 2000, 12, 7, 0.4, 1)),
        serial_{data_, c_.loss, c_.classes, c_.classes > 2, true, 0, 1e-3, 0.8},
        optimum_(optimum_of(serial_)) {
    p_.loss = find_choice<Loss>(c_.loss);
    p_.l2 = 1e-3;
    p_.huber_delta = 0.8;
  }
  // How far the objective is above the optimum, as a part of it.
  double excess(Storage storage, int shards = 4) {
    const auto trained = test::train(c_.kind, p_, test::dataset(data_, storage), on(shards));
    RecordProperty("rounds", static_cast<int>(trained.result.rounds));
    return serial_.objective(trained.w) / optimum_ - 1;
  }

  const Case c_;
  const Labelled data_;
  const SerialLinear serial_;
  const double optimum_;
  Parameters p_;
};

TEST_P(LinearSgd, HybridReachesTheOptimum) {
  p_.solver = Solver::kHybrid;
  for (const bool adaptive : {false, true}) {
    p_.adaptive = adaptive;
    EXPECT_LT(excess(Storage::kSparse), 2e-3) << adaptive;
    EXPECT_LT(excess(Storage::kDense), 2e-3) << adaptive;
  }
}

TEST_P(LinearSgd, AutoReachesTheOptimum) {
  EXPECT_LT(excess(Storage::kSparse), 2e-3);
  EXPECT_LT(excess(Storage::kDense), 2e-3);
}

TEST_P(LinearSgd, AveragedModelsComeNearTheOptimum) {
  p_.solver = Solver::kSgd;
  for (const bool adaptive : {false, true}) {
    for (const bool average : {false, true}) {
      p_.adaptive = adaptive, p_.average = average;
      EXPECT_LT(excess(Storage::kSparse), 0.05) << adaptive << average;
      EXPECT_LT(excess(Storage::kDense), 0.05) << adaptive << average;
    }
  }
}

TEST_P(LinearSgd, SampledGradientsComeNearTheOptimum) {
  p_.solver = Solver::kSgd, p_.send = Send::kGradient;
  p_.batch_fraction = 0.2, p_.max_iter = 300;
  for (const bool adaptive : {false, true}) {
    for (const bool average : {false, true}) {
      p_.adaptive = adaptive, p_.average = average;
      const double near = average ? 0.2 : 0.1;  // the mean remembers the beginning
      EXPECT_LT(excess(Storage::kSparse), near) << adaptive << average;
      EXPECT_LT(excess(Storage::kDense), near) << adaptive << average;
    }
  }
}

TEST_P(LinearSgd, WholeGradientsComeNearTheOptimum) {
  p_.solver = Solver::kSgd, p_.send = Send::kGradient;
  p_.batch_fraction = 1, p_.max_iter = 300;
  EXPECT_LT(excess(Storage::kSparse), 0.1);
}

TEST_P(LinearSgd, RowsSortedByLabelDoNoHarm) {
  std::vector<std::size_t> order(data_.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return data_.y[a] < data_.y[b]; });
  const Labelled sorted = test::in_order(data_, order);
  for (const Solver solver : {Solver::kSgd, Solver::kHybrid}) {
    p_.solver = solver;
    const auto trained = test::train(c_.kind, p_, test::dataset(sorted), on(4));
    const double reached = serial_.objective(trained.w) / optimum_ - 1;
    EXPECT_LT(reached, excess(Storage::kSparse) + 0.03) << to_string(solver);
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LinearSgd, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(LinearSgdPenalty, L1GivesTrueZeros) {
  const Labelled data = test::rows_for(2, 3000, 60, 8, 0.1, 3);
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Parameters p;
    p.solver = Solver::kSgd, p.send = send, p.batch_fraction = 0.2;
    p.l1 = 0.01, p.l2 = 0;
    const auto w = test::train(Kind::kLogistic, p, test::dataset(data)).w;
    const auto zeros = std::count(w.begin(), w.end(), 0.0);
    EXPECT_GT(zeros, 10) << to_string(send);
    EXPECT_LT(zeros, 60) << to_string(send);
  }
}

// Dense columns are scaled as they are read: their units must not matter to how well SGD does.
TEST(LinearSgdScale, UnitsOfColumnsDoNotMatter) {
  Labelled data = test::rows_for(2, 3000, 6, 9, 1, 1);
  for (std::size_t i = 0; i < data.rows(); ++i) {
    data.x[i * 6] *= 1e3;
    data.x[i * 6 + 1] *= 1e-3;
  }
  for (const bool standardize : {false, true}) {
    for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
      if (storage == Storage::kSparse && !standardize) continue;  // rows as they are
      Parameters p;
      p.standardize = standardize;
      p.solver = Solver::kLbfgs, p.tol = 1e-8;
      const double optimum =
          test::train(Kind::kLogistic, p, test::dataset(data, storage)).result.objective;
      p.solver = Solver::kSgd, p.tol = 1e-4;
      const auto sgd = test::train(Kind::kLogistic, p, test::dataset(data, storage));
      EXPECT_LT(sgd.result.objective, 1.05 * optimum) << standardize;
    }
  }
}

// Without an intercept, whose unit is always 1.
TEST(LinearSgdScale, UnitsOfAllColumnsDoNotMatterToSampledGradients) {
  for (const double unit : {1e-3, 1.0, 1e3}) {
    Labelled data = test::rows_for(2, 3000, 6, 10, 1, 1);
    for (double& x : data.x) x *= unit;
    for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
      for (const bool adaptive : {false, true}) {
        Parameters p;
        p.l2 = 0, p.solver = Solver::kLbfgs, p.fit_intercept = false;
        const double optimum =
            test::train(Kind::kLogistic, p, test::dataset(data, storage)).result.objective;
        p.solver = Solver::kSgd, p.send = Send::kGradient, p.batch_fraction = 0.2,
        p.adaptive = adaptive;
        const auto sgd = test::train(Kind::kLogistic, p, test::dataset(data, storage));
        EXPECT_LT(sgd.result.objective, 1.15 * optimum) << unit << ' ' << adaptive;
      }
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::linear
