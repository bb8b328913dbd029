// A block's problem, solved on its Gram matrix.
#include "meanwhile/learn/linear/gram.h"

#include <gtest/gtest.h>

#include <cmath>

#include "meanwhile/learn/linear/working_set.h"
#include "test/learn/points.h"

namespace meanwhile::learn::linear {
namespace {

TEST(Gram, GrowsAndKeepsWhatWasSet) {
  Gram gram;
  gram.grow(3);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j <= i; ++j) gram.set(i, j, static_cast<double>(10 * i + j));
  }
  gram.grow(40);
  EXPECT_EQ(gram.at(1, 2), 21);
  EXPECT_EQ(gram.at(2, 30), 0);
  gram.set(30, 2, 5);
  const std::size_t positions[] = {0, 2, 30};
  gram.keep(positions);
  EXPECT_EQ(gram.size(), 3u);
  EXPECT_EQ(gram.at(1, 0), 20);
  EXPECT_EQ(gram.at(1, 2), 5);
  gram.grow(1);
  EXPECT_EQ(gram.at(3, 2), 0);
}

TEST(Gram, PacksNewColumnsBesideKnownOnes) {
  EXPECT_EQ(packed_row(5, 0), 0u);
  EXPECT_EQ(packed_row(5, 1), 6u);
  EXPECT_EQ(packed_row(5, 2), 13u);
  EXPECT_EQ(packed_size(0, 4), 10u);
}

// Correlated columns: each is the sum of those before it and noise.
TEST(Gram, SolvesABlockOfCorrelatedColumnsToItsOptimality) {
  constexpr std::size_t kRows = 300, kCols = 60;
  auto x = test::uniform<double>(kRows, kCols, 5, -1, 1);
  const auto y = test::uniform<double>(kRows, 1, 6, -1, 1);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 1; j < kCols; ++j) x[i * kCols + j] += 0.95 * x[i * kCols + j - 1] + 0.5;
  }
  Gram gram;
  gram.grow(kCols);
  std::vector<double> slopes(kCols), cross(kCols), start(kCols), l1(kCols, 0.003), l2(kCols, 0.001);
  double slope = 0;
  for (std::size_t i = 0; i < kRows; ++i) slope -= y[i] / kRows;
  for (std::size_t j = 0; j < kCols; ++j) {
    for (std::size_t i = 0; i < kRows; ++i) {
      cross[j] += x[i * kCols + j] / kRows;
      slopes[j] -= x[i * kCols + j] * y[i] / kRows;
    }
    for (std::size_t k = 0; k <= j; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < kRows; ++i) sum += x[i * kCols + j] * x[i * kCols + k] / kRows;
      gram.set(j, k, sum);
    }
  }
  for (const bool intercept : {true, false}) {
    const BlockProblem problem{gram, slopes, start, l1, l2, intercept, cross, 1, slope};
    const BlockSolution solution = solve_block(problem, 1e-11, 100'000);
    EXPECT_LE(solution.violation, 1e-11);
    EXPECT_LT(solution.epochs, 20'000);
    // From the rows themselves.
    std::vector<double> residual(kRows);
    double loss = 0, before = 0, mean = 0, penalty = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      residual[i] = solution.intercept_move - y[i];
      for (std::size_t j = 0; j < kCols; ++j) residual[i] += x[i * kCols + j] * solution.w[j];
      loss += residual[i] * residual[i] / 2 / kRows;
      before += y[i] * y[i] / 2 / kRows;
      mean += residual[i] / kRows;
    }
    if (intercept) {
      EXPECT_NEAR(mean, 0, 1e-12);
    }
    for (std::size_t j = 0; j < kCols; ++j) {
      const double w = solution.w[j];
      double g = l2[j] * w;
      for (std::size_t i = 0; i < kRows; ++i) g += x[i * kCols + j] * residual[i] / kRows;
      if (w == 0) {
        EXPECT_LE(std::abs(g), l1[j] + 1e-10);
      } else {
        EXPECT_NEAR(g, -std::copysign(l1[j], w), 1e-10);
      }
      penalty += l1[j] * std::abs(w) + l2[j] * w * w / 2;
    }
    EXPECT_NEAR(solution.decrease, before - loss - penalty, 1e-10);
    EXPECT_GT(solution.decrease, 0);
  }
}

TEST(Gram, LeavesColumnsWithoutAProductAlone) {
  Gram gram;
  gram.grow(2);
  gram.set(0, 0, 1);
  const double slopes[] = {-1, -1}, start[] = {0, 3}, l1[] = {0.5, 0.5}, l2[] = {0, 0};
  const BlockSolution solution = solve_block({gram, slopes, start, l1, l2}, 1e-12, 100);
  EXPECT_NEAR(solution.w[0], 0.5, 1e-15);
  EXPECT_EQ(solution.w[1], 3);
}

TEST(WorkingSetChoice, TakesTheHighestAndBreaksTiesByColumn) {
  std::vector<Candidate> candidates;
  for (std::int32_t j = 0; j < 20; ++j) candidates.push_back({19 - j, static_cast<double>(j % 4)});
  // Priority 3 have columns 16, 12, 8, 4, 0; of those with 2, columns 1 and 5 come first.
  EXPECT_EQ(top_candidates(candidates, 7), (std::vector<std::int32_t>{0, 1, 4, 5, 8, 12, 16}));
  EXPECT_EQ(top_candidates(candidates, 50).size(), 20u);
  EXPECT_TRUE(top_candidates({}, 3).empty());
}

// The dual of the logistic loss at any scale, from sums that do not know the scale, is never above
// the dual itself.
TEST(WorkingSetGap, BoundsTheDualOfTheLogisticLossFromBelow) {
  const auto z = test::uniform<double>(200, 1, 3, -6, 6),
             weights = test::uniform<double>(200, 1, 4);
  DualSums sums;
  double weight = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    sums.add(Loss::kLogistic, z[i], i % 3 == 0 ? 1 : -1, weights[i], 0);
    weight += weights[i];
  }
  for (const bool intercept : {false, true}) {
    const DualPoint point = balanced(Loss::kLogistic, sums, weight, intercept);
    if (intercept) {
      EXPECT_NEAR(point.factor[0] * sums.of(0, 0), point.factor[1] * sums.of(1, 0), 1e-12);
    }
    for (const double scale : {1.0, 0.999, 0.9, 0.5, 0.1, 1e-3}) {
      double exact = 0;
      for (std::size_t i = 0; i < z.size(); ++i) {
        const double y = i % 3 == 0 ? 1 : -1;
        const double u = scale * point.factor[y > 0 ? 1 : 0] / (1 + std::exp(y * z[i]));
        exact -= weights[i] * (u * std::log(u) + (1 - u) * std::log1p(-u)) / weight;
      }
      const double bound = dual_of_rows(Loss::kLogistic, sums, weight, point, scale);
      EXPECT_LE(bound, exact + 1e-12) << scale;
      if (!intercept && scale >= 0.999) {
        EXPECT_NEAR(bound, exact, 1e-3);
      }
      if (!intercept && scale == 1) {
        EXPECT_NEAR(bound, exact, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::linear
