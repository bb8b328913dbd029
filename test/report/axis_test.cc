#include "meanwhile/report/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace meanwhile::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A step is a difference, and not exact.
bool is_round(double value, double step) {
  const double times = value / step;
  return std::abs(times - std::round(times)) < 1e-6 * std::max(1.0, std::abs(times));
}

void expect_good(const Axis& axis, const std::vector<double>& values, int most) {
  for (const double value : values) {
    EXPECT_TRUE(axis.shows(value)) << value << " beyond " << axis.low << " to " << axis.high;
    EXPECT_GE(axis.at(value), 0);
    EXPECT_LE(axis.at(value), 1);
  }
  EXPECT_LT(axis.low, axis.high);
  ASSERT_GE(axis.ticks.size(), 2U);
  EXPECT_LE(axis.ticks.size(), static_cast<std::size_t>(std::max(most, 3)));
  std::set<std::string> labels;
  for (const Tick& tick : axis.ticks) {
    EXPECT_TRUE(axis.shows(tick.value)) << tick.value;
    EXPECT_TRUE(labels.insert(tick.label).second) << tick.label << " twice";
  }
}

TEST(Axis, LinearTicksAreRoundAndCoverTheRange) {
  const std::vector<std::vector<double>> cases = {
      {0, 1},         {0.1, 13.7}, {3, 977},       {1e6, 1.1e6},  {-5, 5},   {-13.7, -2},
      {0.0012, 0.3},  {99, 101},   {1e9, 1e9 + 3}, {1e-9, 4e-9},  {0, 1e12}, {-1e5, 3},
      {12345, 67890}, {1, 1024},   {-1e-3, 1e6},   {0.999, 1.001}};
  for (const std::vector<double>& values : cases) {
    for (const int most : {2, 3, 5, 8, 20}) {
      SCOPED_TRACE(std::to_string(values[0]) + " to " + std::to_string(values[1]) + " in " +
                   std::to_string(most));
      const Axis axis = axis_of(values, false, most);
      expect_good(axis, values, most);
      const double step = axis.ticks[1].value - axis.ticks[0].value;
      const double digit = step / std::pow(10, std::floor(std::log10(step) + 1e-5));
      EXPECT_TRUE(std::abs(digit - 1) < 1e-5 || std::abs(digit - 2) < 1e-5 ||
                  std::abs(digit - 5) < 1e-5)
          << "step " << step;
      for (const Tick& tick : axis.ticks) EXPECT_TRUE(is_round(tick.value, step)) << tick.value;
    }
  }
}

TEST(Axis, LogarithmicTicksAreRoundAndCoverTheRange) {
  const std::vector<std::vector<double>> cases = {{1, 128}, {1, 1000},     {3, 7},    {0.02, 4000},
                                                  {1, 1},   {1e-12, 1e12}, {95, 105}, {0.5, 0.5}};
  for (const std::vector<double>& values : cases) {
    for (const int most : {2, 3, 5, 8, 20}) {
      SCOPED_TRACE(std::to_string(values[0]) + " to " + std::to_string(values[1]) + " in " +
                   std::to_string(most));
      const Axis axis = axis_of(values, true, most);
      expect_good(axis, values, most);
      for (const Tick& tick : axis.ticks) {
        const double power = std::pow(10, std::floor(std::log10(tick.value) + 1e-6));
        const double digit = tick.value / power;
        EXPECT_TRUE(std::abs(digit - 1) < 1e-6 || std::abs(digit - 2) < 1e-6 ||
                    std::abs(digit - 5) < 1e-6)
            << tick.value;
      }
    }
  }
}

TEST(Axis, PositiveValuesBeginAtZeroUnlessTheyLieTogether) {
  EXPECT_EQ(axis_of(std::vector<double>{2.0, 90.0}, false, 6).low, 0);
  EXPECT_GT(axis_of(std::vector<double>{990.0, 1000.0}, false, 6).low, 900);
}

TEST(Axis, ValuesThatAreAllEqualHaveRoom) {
  for (const double value : {0.0, 1.0, -3.0, 1e-20, 7e30}) {
    const std::vector<double> values(4, value);
    expect_good(axis_of(values, false, 5), values, 5);
  }
}

TEST(Axis, WhatCannotBeDrawnIsLeftOut) {
  const std::vector<double> values = {kNan, 1, kInfinity, 10, -kInfinity, 1e300, -4, 0};
  const Axis axis = axis_of(values, true, 6);
  EXPECT_EQ(axis.low, 1);
  EXPECT_EQ(axis.high, 10);
  for (const double value : {kNan, kInfinity, -kInfinity, 1e300, -4.0, 0.0}) {
    EXPECT_FALSE(axis.shows(value)) << value;
  }
  expect_good(axis_of(std::vector<double>{kNan}, false, 6), {}, 6);
  expect_good(axis_of({}, true, 6), {}, 6);
}

TEST(Axis, LabelsAreShort) {
  const auto labels = [](std::vector<double> values, bool log) {
    std::string all;
    for (const Tick& tick : axis_of(values, log, 5).ticks) all += tick.label + " ";
    return all;
  };
  EXPECT_EQ(labels({0, 1}, false), "0 0.5 1 ");
  EXPECT_EQ(labels({0, 80000}, false), "0 20k 40k 60k 80k ");
  EXPECT_EQ(labels({1, 1000}, true), "1 10 100 1000 ");
  EXPECT_EQ(labels({1e4, 1e7}, true), "10k 100k 1M 10M ");
  EXPECT_EQ(labels({0.001, 0.1}, true), "0.001 0.01 0.1 ");
}

}  // namespace
}  // namespace meanwhile::report
