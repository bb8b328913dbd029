#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "meanwhile/learn/linear/loss.h"
#include "meanwhile/learn/linear/problem.h"

namespace meanwhile::learn::linear {
namespace {

constexpr double kStep = 1e-6;

double numeric_slope(const LossFunction& f, double z, double y) {
  return (f.value(z + kStep, y) - f.value(z - kStep, y)) / (2 * kStep);
}

TEST(LinearLoss, SlopesAreThoseOfTheValues) {
  const LossFunction losses[] = {{Loss::kHinge},    {Loss::kHinge, 1, 0.3}, {Loss::kSquaredHinge},
                                 {Loss::kLogistic}, {Loss::kSquared},       {Loss::kHuber, 0.7}};
  for (const LossFunction& f : losses) {
    // Points that are on no corner: 1 - y z, and |z - y| - delta, are not 0 at any.
    for (const double z : {-7.3, -1.21, -0.34, 0.013, 0.55, 0.83, 1.17, 2.9, 15.1}) {
      for (const double y : {-1.0, 1.0}) {
        EXPECT_NEAR(f.slope(z, y), numeric_slope(f, z, y), 1e-6)
            << "loss " << static_cast<int>(f.loss) << " z " << z << " y " << y;
      }
    }
  }
}

TEST(LinearLoss, ValuesAtPlacesWhereTheyAreKnown) {
  EXPECT_EQ((LossFunction{Loss::kHinge}.value(0.25, 1)), 0.75);
  EXPECT_EQ((LossFunction{Loss::kHinge}.value(2, 1)), 0);
  EXPECT_EQ((LossFunction{Loss::kSquaredHinge}.value(-1, 1)), 4);
  EXPECT_NEAR((LossFunction{Loss::kLogistic}.value(0, -1)), std::log(2.0), 1e-15);
  EXPECT_EQ((LossFunction{Loss::kSquared}.value(3, 1)), 2);
  EXPECT_EQ((LossFunction{Loss::kHuber, 0.5}.value(1.25, 1)), 0.03125);
  EXPECT_EQ((LossFunction{Loss::kHuber, 0.5}.value(4, 1)), 0.5 * 3 - 0.125);
}

TEST(LinearLoss, LogisticNeitherOverflowsNorLosesSmallValues) {
  const LossFunction f{Loss::kLogistic};
  EXPECT_EQ(f.value(-1e5, 1), 1e5);
  EXPECT_EQ(f.slope(-1e5, 1), -1);
  EXPECT_NEAR(f.value(40, 1) / std::exp(-40.0), 1, 1e-12);
  EXPECT_NEAR(f.slope(40, 1) / -std::exp(-40.0), 1, 1e-12);
  EXPECT_EQ(f.slope(1e5, 1), 0);
}

TEST(LinearLoss, TheRoundedHingeTendsToTheHinge) {
  const LossFunction sharp{Loss::kHinge};
  double before = 1;
  for (const double smoothing : {0.5, 0.1, 1e-3, 1e-6}) {
    const LossFunction rounded{Loss::kHinge, 1, smoothing};
    double worst = 0;
    for (double z = -2; z < 2; z += 1e-3) {
      const double gap = sharp.value(z, 1) - rounded.value(z, 1);
      EXPECT_GE(gap, -1e-15);  // it hides, never adds
      worst = std::max(worst, gap);
    }
    EXPECT_LE(worst, smoothing / 2 + 1e-15);
    EXPECT_LT(worst, before);
    before = worst;
    // No jump where the parabola meets the line.
    const double corner = 1 - smoothing;
    EXPECT_NEAR(rounded.value(corner - 1e-12, 1), rounded.value(corner + 1e-12, 1), 1e-11);
    EXPECT_NEAR(rounded.slope(corner - 1e-12, 1), -1, 1e-15);
    EXPECT_NEAR(rounded.slope(corner + 1e-12, 1), -1, 1e-5);
  }
}

TEST(LinearLoss, HuberIsSquaredNearAndStraightFar) {
  const LossFunction huber{Loss::kHuber, 1.5}, squared{Loss::kSquared};
  for (double r = -1.5; r <= 1.5; r += 0.1) {
    EXPECT_NEAR(huber.value(2 + r, 2), squared.value(2 + r, 2), 1e-15);
  }
  EXPECT_NEAR(huber.value(12, 2) - huber.value(11, 2), 1.5, 1e-12);
  EXPECT_EQ(huber.slope(-100, 2), -1.5);
}

TEST(LinearLoss, SoftmaxSlopesSumToZeroAndAreThoseOfTheValue) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> z(static_cast<std::size_t>(2 + trial % 5));
    for (double& value : z) value = normal(random);
    const std::size_t y = static_cast<std::size_t>(trial) % z.size();
    std::vector<double> slopes = z;
    const double value = softmax(slopes, y);
    EXPECT_GT(value, 0);
    EXPECT_NEAR(std::accumulate(slopes.begin(), slopes.end(), 0.0), 0, 1e-14);
    for (std::size_t c = 0; c < z.size(); ++c) {
      std::vector<double> up = z, down = z;
      up[c] += kStep, down[c] -= kStep;
      EXPECT_NEAR(slopes[c], (softmax(up, y) - softmax(down, y)) / (2 * kStep), 1e-7);
    }
  }
}

TEST(LinearLoss, SoftmaxOfHugeMarginsIsFinite) {
  std::vector<double> z = {1e6, -1e6, 5};
  EXPECT_EQ(softmax(z, 1), 2e6);
  EXPECT_EQ(z, (std::vector<double>{1, -1, 0}));
}

TEST(LinearLoss, OneAgainstTheRestIsTheSumOverOutputs) {
  Problem problem;
  problem.loss = {Loss::kSquaredHinge};
  problem.outputs = 3;
  problem.classes = {0, 1, 2};
  std::vector<double> z = {0.2, -0.5, 1.5};
  EXPECT_NEAR(problem.loss_and_slopes(z, 1), 1.2 * 1.2 + 1.5 * 1.5 + 2.5 * 2.5, 1e-14);
  EXPECT_NEAR(z[0], 2 * 1.2, 1e-14);
  EXPECT_NEAR(z[1], -2 * 1.5, 1e-14);
  EXPECT_NEAR(z[2], 2 * 2.5, 1e-14);
}

}  // namespace
}  // namespace meanwhile::learn::linear
