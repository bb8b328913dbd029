// L-BFGS reaches the optimum that an independent solver finds, for every loss and penalty.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <random>

#include "test/learn/linear_serial.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using test::SerialLinear;
using test::Storage;

struct Case {
  const char* name;
  Kind kind;
  const char* loss;
  std::size_t classes;
  bool softmax;
  double tolerance;  // relative, of the objective
  double zeros_at;   // an l1 that leaves some weights, but not all
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
constexpr Case kCases[] = {
    {"hinge", Kind::kSvm, "hinge", 2, false, 1e-3, 0.12},
    {"squared_hinge", Kind::kSvm, "squared_hinge", 2, false, 1e-6, 0.25},
    {"logistic", Kind::kLogistic, "logistic", 2, false, 1e-6, 0.06},
    {"squared", Kind::kLinear, "squared", 0, false, 1e-6, 0.2},
    {"huber", Kind::kLinear, "huber", 0, false, 1e-6, 0.1},
    {"softmax", Kind::kLogistic, "logistic", 4, true, 1e-6, 0.06},
    {"logistic_ovr", Kind::kLogistic, "logistic", 3, false, 1e-6, 0.06},
    {"hinge_ovr", Kind::kSvm, "hinge", 3, false, 1e-3, 0.1},
    {"squared_hinge_ovr", Kind::kSvm, "squared_hinge", 3, false, 1e-6, 0.3},
};

struct Penalty {
  double l1, l2;
};
constexpr Penalty kPenalties[] = {{0, 0}, {0, 0.05}, {0.03, 0}, {0.02, 0.02}};

class LinearOptimum : public testing::TestWithParam<Case> {};

Parameters exact(const Case& c) {
  Parameters p;
  p.loss = find_choice<Loss>(c.loss);
  p.solver = Solver::kLbfgs;
  p.multi_class = c.kind == Kind::kLogistic && !c.softmax ? MultiClass::kOvr : MultiClass::kAuto;
  p.huber_delta = 0.8;
  p.max_iter = 3000;
  p.tol = c.tolerance > 1e-4 ? 1e-7 : 1e-10;
  return p;
}

TEST_P(LinearOptimum, IsReachedByLbfgs) {
  const Case& c = GetParam();
  // Noise makes the classes overlap: there is a finite optimum without a penalty.
  const Labelled data = test::rows_for(c.classes, 150, 5, 1, 0.8, 2);
  for (const auto& [l1, l2] : kPenalties) {
    for (const bool intercept : {true, false}) {
      SCOPED_TRACE(testing::Message()
                   << c.name << " l1 " << l1 << " l2 " << l2 << ' ' << intercept);
      SerialLinear serial{data, c.loss, c.classes, c.softmax, intercept, l1, l2, 0.8};
      if (c.tolerance > 1e-4) serial.rounding = 2e-4;
      const std::vector<double> best = serial.solve();
      serial.rounding = 0;
      Parameters p = exact(c);
      p.l1 = l1, p.l2 = l2, p.fit_intercept = intercept;
      const test::TrainedLinear ours = test::train(c.kind, p, test::dataset(data));
      const double optimum = serial.objective(best);
      EXPECT_LT(serial.objective(ours.w), optimum * (1 + c.tolerance)) << ours.result.rounds;
      EXPECT_NEAR(ours.result.objective, serial.objective(ours.w), 1e-12 * optimum);
      EXPECT_TRUE(ours.result.done);
      EXPECT_NE(ours.result.stopped_because.find("converged"), std::string::npos)
          << ours.result.stopped_because;
    }
  }
}

TEST_P(LinearOptimum, HasTheZerosOfL1) {
  const Case& c = GetParam();
  const Labelled data = test::rows_for(c.classes, 150, 5, 2, 0.8, 2);
  Parameters p = exact(c);
  // Slopes of softmax are the smallest, those of the squares the largest.
  p.l1 = c.zeros_at, p.l2 = 0;
  const test::TrainedLinear ours = test::train(c.kind, p, test::dataset(data));
  SerialLinear serial{data, c.loss, c.classes, c.softmax, true, p.l1, p.l2, 0.8};
  if (c.tolerance > 1e-4) serial.rounding = 2e-4;
  const std::vector<double> best = serial.solve();
  int zeros = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    zeros += best[i] == 0;
    if (best[i] != 0 && std::abs(best[i]) < 0.02) continue;  // either may be right
    EXPECT_EQ(ours.w[i] == 0.0, best[i] == 0) << c.name << ' ' << i;
  }
  EXPECT_GT(zeros, 0) << "the penalty is too small to test anything";
  EXPECT_LT(zeros, static_cast<int>(best.size()) - 1);
}

INSTANTIATE_TEST_SUITE_P(Losses, LinearOptimum, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

// A penalised constant is the weight of a column of ones, as liblinear has it.
TEST(LinearIntercept, IsPenalisedOnRequest) {
  const Labelled data = test::rows_for(2, 200, 4, 5, 1, 2);
  Labelled wide = data;
  wide.cols = 5;
  wide.x.clear();
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const auto row = data.x.begin() + static_cast<std::ptrdiff_t>(4 * i);
    wide.x.insert(wide.x.end(), row, row + 4);
    wide.x.push_back(1);
  }
  for (const char* loss : {"squared_hinge", "hinge"}) {
    Parameters p;
    p.loss = find_choice<Loss>(loss);
    p.solver = Solver::kLbfgs, p.l2 = 0.02, p.max_iter = 3000;
    p.tol = 1e-9, p.slope_tol = 1e-7;
    p.fit_intercept = false;
    const auto column = test::train(Kind::kSvm, p, test::dataset(wide));
    p.fit_intercept = true, p.l2_intercept = 0.02;
    const auto constant = test::train(Kind::kSvm, p, test::dataset(data));
    EXPECT_NEAR(constant.result.objective, column.result.objective, 1e-6) << loss;
    EXPECT_NEAR(constant.w[4], column.w[4], 1e-3) << loss;
    EXPECT_GT(std::abs(constant.w[4]), 1e-2) << loss;
  }
}

// Counts of words, as in texts: a few words are in most rows, and each class has rare words of its
// own. With the bound of the curvature instead of what it is, this takes 137 rounds, not 62.
TEST(LinearSoftmax, ConvergesInFewRoundsOnCountsOfWords) {
  constexpr int kClasses = 20, kRows = 800, kWords = 2000, kLength = 150;
  std::mt19937_64 random(5);
  Labelled data;
  data.cols = kWords;
  for (int row = 0; row < kRows; ++row) {
    data.y.push_back(row % kClasses);
    std::vector<double> counts(kWords, 0.0);
    for (int i = 0; i < kLength; ++i) {
      const double u = static_cast<double>(random() >> 11) * 0x1p-53;
      auto word = static_cast<std::size_t>(std::pow(kWords, u)) - 1;  // as often as 1 / rank
      // One in twenty words is of the class.
      if (random() % 20 == 0)
        word = word / kClasses * kClasses + static_cast<std::size_t>(row % kClasses);
      ++counts[word % kWords];
    }
    data.x.insert(data.x.end(), counts.begin(), counts.end());
  }
  Parameters p;
  p.solver = Solver::kLbfgs, p.l2 = 1.0 / kRows, p.max_iter = 3000, p.tol = 1e-10;
  EXPECT_LT(test::train(Kind::kLogistic, p, test::dataset(data)).result.rounds, 90);
}

// A corner is rounded less and less until it hides nothing, whatever few steps gain.
TEST(LinearHinge, IsExactWhereSlopesAreToVanish) {
  const Labelled data = test::rows_for(2, 150, 5, 1, 0.8, 2);
  SerialLinear serial{data, "hinge", 2, false, true, 0, 0.05};
  serial.rounding = 1e-5;
  const std::vector<double> best = serial.solve();
  serial.rounding = 0;
  Parameters p;
  p.solver = Solver::kLbfgs, p.l2 = 0.05, p.max_iter = 5000, p.tol = 1e-7, p.slope_tol = 1e-5;
  const auto ours = test::train(Kind::kSvm, p, test::dataset(data));
  EXPECT_LT(serial.objective(ours.w), serial.objective(best) * (1 + 1e-5)) << ours.result.rounds;
}

TEST(LinearSlopes, EndTrainingWhenAllAreSmall) {
  const Labelled data = test::rows_for(3, 300, 4, 6);
  Parameters p;
  p.solver = Solver::kLbfgs, p.tol = 0, p.max_iter = 1000;
  std::int64_t rounds = 0;
  for (const double tol : {1e-2, 1e-4, 1e-6}) {
    p.slope_tol = tol;
    const auto ours = test::train(Kind::kLogistic, p, test::dataset(data));
    EXPECT_NE(ours.result.stopped_because.find("slope_tol"), std::string::npos) << tol;
    EXPECT_GT(ours.result.rounds, rounds) << tol;
    rounds = ours.result.rounds;
  }
}

// Labels with mean 10, or nine in ten positive: a huge penalty leaves the intercept alone.
TEST(LinearIntercept, IsNotPenalised) {
  Labelled data = test::rows_for(0, 400, 3, 3);
  for (double& y : data.y) y += 10;
  double mean = 0;
  for (const double y : data.y) mean += y / 400;
  for (const Solver solver : {Solver::kLbfgs, Solver::kHybrid}) {
    Parameters p;
    p.l2 = 1e6, p.solver = solver, p.tol = 1e-9;
    const auto w = test::train(Kind::kLinear, p, test::dataset(data)).w;
    EXPECT_NEAR(w[3], mean, 1e-4) << to_string(solver);
    EXPECT_NEAR(w[0], 0, 1e-4) << to_string(solver);
    p.l2 = 0, p.l1 = 1e6;
    const auto sparse = test::train(Kind::kLinear, p, test::dataset(data)).w;
    EXPECT_NEAR(sparse[3], mean, 1e-4) << to_string(solver);
    EXPECT_EQ(sparse[0], 0) << to_string(solver);
  }
  for (std::size_t i = 0; i < 400; ++i) data.y[i] = i % 10 == 0 ? -1 : 1;
  Parameters p;
  p.l2 = 1e6, p.solver = Solver::kLbfgs, p.tol = 1e-9;
  const auto w = test::train(Kind::kLogistic, p, test::dataset(data)).w;
  EXPECT_NEAR(w[3], std::log(9.0), 1e-4);
}

TEST(LinearIntercept, StaysZeroWhereNoneIsWanted) {
  Parameters p;
  p.fit_intercept = false;
  for (const Solver solver : {Solver::kLbfgs, Solver::kHybrid, Solver::kSgd}) {
    for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
      p.solver = solver;
      const Labelled data = test::rows_for(3, 600, 4, 4);
      const auto w = test::train(Kind::kLogistic, p, test::dataset(data, storage)).w;
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(w[12 + c], 0);
    }
  }
}

TEST(LinearOptimum, BadlyScaledAndConstantColumnsDoNoHarm) {
  Labelled data = test::rows_for(2, 300, 4, 5, 1, 2);
  for (std::size_t i = 0; i < data.rows(); ++i) {
    data.x[i * 4] = data.x[i * 4] * 1e4 + 1e5;
    data.x[i * 4 + 1] *= 1e-3;
    data.x[i * 4 + 2] = 7;
  }
  // The same problem in columns that are easy: logistic loss alone does not see scales.
  SerialLinear serial{data, "logistic", 2, false, true};
  for (std::size_t i = 0; i < data.rows(); ++i) {
    serial.data.x[i * 4] = (data.x[i * 4] - 1e5) / 1e4;
    serial.data.x[i * 4 + 1] *= 1e3;
    serial.data.x[i * 4 + 2] = 0;
  }
  const double optimum = serial.objective(serial.solve());
  for (const bool standardize : {false, true}) {
    for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
      Parameters p;
      p.l2 = 0, p.solver = Solver::kLbfgs, p.tol = 1e-9, p.standardize = standardize;
      const auto ours = test::train(Kind::kLogistic, p, test::dataset(data, storage));
      EXPECT_NEAR(ours.result.objective, optimum, 1e-6 * optimum) << standardize;
      EXPECT_LT(ours.result.rounds, 60);
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::linear
