// Working sets against a verifier that shares no code with them, and what their optima must
// satisfy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "test/expect_error.h"
#include "test/learn/linear_serial.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using test::on;
using test::SerialLinear;
using test::Storage;
using testing::HasSubstr;

struct Case {
  const char* name;
  Kind kind;
  const char* loss;
  std::size_t classes;
  double l1;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
constexpr Case kCases[] = {{"squared", Kind::kLinear, "squared", 0, 0.2},
                           {"logistic", Kind::kLogistic, "logistic", 2, 0.02},
                           {"squared_hinge", Kind::kSvm, "squared_hinge", 2, 0.05}};

Parameters with_sets(const Case& c, double l1, double l2 = 0) {
  Parameters p;
  p.loss = find_choice<Loss>(c.loss);
  p.solver = Solver::kWorkingSet;
  p.l1 = l1, p.l2 = l2, p.tol = 1e-10;
  return p;
}

std::size_t nonzeros(std::span<const double> w) {
  return w.size() - 1 - static_cast<std::size_t>(std::count(w.begin(), w.end() - 1, 0.0));
}

// About the square root of the gap.
constexpr double kViolation = 1e-5;

// The largest part of a subgradient that is not zero.
double violation(const SerialLinear& serial, const std::vector<double>& w) {
  std::vector<double> g;
  serial.mean_loss(w, g);
  double largest = serial.intercept ? std::abs(g[serial.D()]) : 0;
  for (std::size_t j = 0; j < serial.D(); ++j) {
    const double f = serial.factor_of(j), slope = g[j] + serial.l2 * f * f * w[j],
                 l1 = serial.l1 * f;
    const double off = w[j] == 0 ? std::abs(slope) - l1 : std::abs(slope + std::copysign(l1, w[j]));
    largest = std::max(largest, off);
  }
  return largest;
}

class WorkingSets : public testing::TestWithParam<Case> {};

TEST_P(WorkingSets, ComeToTheOptimumOfASerialSolver) {
  const Case& c = GetParam();
  for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
    for (const bool intercept : {true, false}) {
      for (const double l2 : {0.0, 0.05}) {
        const Labelled data = test::rows_for(c.classes, 300, 30, 7, 0.5);
        SerialLinear serial{data, c.loss, c.classes, false, intercept, c.l1, l2};
        const double optimum = serial.objective(serial.solve());
        Parameters p = with_sets(c, c.l1, l2);
        p.fit_intercept = intercept;
        const auto ours = test::train(c.kind, p, test::dataset(data, storage));
        EXPECT_NEAR(ours.result.objective, optimum, 1e-8 * optimum) << l2 << intercept;
        EXPECT_NEAR(ours.result.objective, serial.objective(ours.w), 1e-12 * optimum);
        EXPECT_LT(violation(serial, ours.w), kViolation);
        EXPECT_THAT(ours.result.stopped_because, HasSubstr("the duality gap is"));
        EXPECT_LT(nonzeros(ours.w), 30u);
        EXPECT_GT(nonzeros(ours.w), 2u);
      }
    }
  }
}

TEST_P(WorkingSets, AgreeWithLbfgs) {
  const Case& c = GetParam();
  const auto rows = test::dataset(test::rows_for(c.classes, 800, 60, 17, 0.3));
  for (const bool standardize : {false, true}) {
    Parameters p = with_sets(c, c.l1, 1e-3);
    p.standardize = standardize;
    const auto sets = test::train(c.kind, p, rows);
    p.solver = Solver::kLbfgs, p.tol = 1e-12, p.max_iter = 2000;
    const auto lbfgs = test::train(c.kind, p, rows);
    EXPECT_NEAR(sets.result.objective, lbfgs.result.objective, 1e-8 * lbfgs.result.objective);
  }
}

// Every round says how far its objective may be from the minimum, and is right.
TEST_P(WorkingSets, HaveAGapThatBoundsEveryRound) {
  const Case& c = GetParam();
  for (const bool intercept : {true, false}) {
    for (const double l2 : {0.0, 0.1}) {
      const auto rows = test::dataset(test::rows_for(c.classes, 200, 300, 27, 0.3));
      Parameters p = with_sets(c, c.l1 / 2, l2);
      p.fit_intercept = intercept;
      const auto exact = test::train(c.kind, p, rows);
      EXPECT_LE(exact.rounds.back().outcome.record.at("relative_gap").get<double>(), 1e-10);
      p.block = 40, p.max_iter = 60;  // too small for the support: many rounds, far from the end
      const auto slow = test::train(c.kind, p, rows);
      ASSERT_GT(slow.rounds.size(), 5u);
      for (const auto* ours : {&exact, &slow}) {
        for (const auto& event : ours->rounds) {
          if (!event.outcome.record.contains("gap")) continue;
          const double gap = event.outcome.record.at("gap").get<double>();
          EXPECT_GE(gap, event.outcome.objective - exact.result.objective - 1e-12) << event.round;
        }
      }
    }
  }
}

TEST_P(WorkingSets, ScreenNoColumnOfTheSupport) {
  const Case& c = GetParam();
  const Labelled data = test::rows_for(c.classes, 150, 400, 37, 0.4);
  // A block too small for the support comes to the end slowly, so that there is time to screen.
  Parameters p = with_sets(c, 2 * c.l1);
  p.block = 12, p.max_iter = 5000;
  const auto ours = test::train(c.kind, p, test::dataset(data));
  std::int64_t live = 400;
  for (const auto& event : ours.rounds) {
    if (event.outcome.record.contains("live"))
      live = event.outcome.record.at("live").get<std::int64_t>();
  }
  EXPECT_LT(live, 400) << "nothing was screened";
  // The conditions hold for all columns, screened ones included.
  const SerialLinear serial{data, c.loss, c.classes, false, true, 2 * c.l1, 0};
  EXPECT_LT(violation(serial, ours.w), kViolation);
}

TEST_P(WorkingSets, AWeightOfTwoIsARowTwice) {
  const Case& c = GetParam();
  Labelled once = test::rows_for(c.classes, 120, 20, 47);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < once.rows(); ++i) {
    once.weights.push_back(i % 3 == 0 ? 2 : i % 7 == 0 ? 0 : 1);
    for (int k = 0; k < once.weights[i]; ++k) order.push_back(i);
  }
  Labelled twice = test::in_order(once, order);
  twice.weights.clear();
  const auto weighted = test::train(c.kind, with_sets(c, c.l1, 0.01), test::dataset(once));
  const auto repeated = test::train(c.kind, with_sets(c, c.l1, 0.01), test::dataset(twice));
  EXPECT_LT(test::distance(weighted.w, repeated.w), 1e-6);
}

TEST_P(WorkingSets, ASmallBlockAndAKeptPartOfTheRowsChangeNoOptimum) {
  const Case& c = GetParam();
  const auto rows = test::dataset(test::rows_for(c.classes, 150, 300, 57, 0.3));
  Parameters p = with_sets(c, c.l1 / 2, 1e-3);
  const auto whole = test::train(c.kind, p, rows);
  ASSERT_GT(nonzeros(whole.w), 12u);
  p.block = 12, p.max_iter = 5000;
  const auto blocks = test::train(c.kind, p, rows);
  EXPECT_NEAR(blocks.result.objective, whole.result.objective, 1e-9 * whole.result.objective);
  EXPECT_GT(blocks.result.rounds, whole.result.rounds);
}

TEST_P(WorkingSets, APenaltyAboveTheLargestGivesNoWeight) {
  const Case& c = GetParam();
  const auto rows = test::dataset(test::rows_for(c.classes, 200, 10, 67));
  const auto none = test::train(c.kind, with_sets(c, 1e3), rows);
  EXPECT_EQ(nonzeros(none.w), 0u);
  EXPECT_EQ(none.result.rounds, 1);
  Parameters p = with_sets(c, 0);
  p.path = 2, p.path_ratio = 0.5;
  const auto path = test::train(c.kind, p, rows);
  const double largest = path.result.record.at("path")[0].at("l1").get<double>();
  EXPECT_EQ(nonzeros(test::train(c.kind, with_sets(c, largest * 1.001), rows).w), 0u);
  EXPECT_GT(nonzeros(test::train(c.kind, with_sets(c, largest * 0.99), rows).w), 0u);
}

TEST_P(WorkingSets, HandleColumnsThatAreEqualEmptyOrConstant) {
  const Case& c = GetParam();
  Labelled data = test::rows_for(c.classes, 100, 6, 77);
  for (std::size_t i = 0; i < data.rows(); ++i) {
    double* x = data.x.data() + i * 6;
    x[1] = x[0], x[2] = 0, x[3] = 5, x[4] = x[0] + 1e-6 * x[5];
  }
  for (const bool standardize : {false, true}) {
    for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
      Parameters p = with_sets(c, c.l1);
      p.standardize = standardize;
      const auto ours = test::train(c.kind, p, test::dataset(data, storage));
      EXPECT_LE(ours.result.record.at("relative_gap").get<double>(), 1e-10);
      EXPECT_EQ(ours.w[2], 0);
      EXPECT_EQ(ours.w[3], 0) << "the intercept costs nothing";
      for (const double w : ours.w) EXPECT_TRUE(std::isfinite(w));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, WorkingSets, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(WorkingSetsOfNumbers, HandleOneRowAndOneLabel) {
  const Case& c = kCases[0];
  Labelled one = test::rows_for(0, 1, 5, 3);
  for (const bool intercept : {true, false}) {
    Parameters p = with_sets(c, 0.01);
    p.fit_intercept = intercept;
    const auto ours = test::train(c.kind, p, test::dataset(one));
    EXPECT_TRUE(ours.result.done);
    if (intercept) {
      EXPECT_EQ(nonzeros(ours.w), 0u);
    }
  }
  Labelled same = test::rows_for(0, 50, 5, 3);
  std::fill(same.y.begin(), same.y.end(), 0.1);
  const auto constant = test::train(c.kind, with_sets(c, 0.01), test::dataset(same));
  EXPECT_EQ(nonzeros(constant.w), 0u);
  EXPECT_NEAR(constant.w.back(), 0.1, 1e-12);
  EXPECT_LE(constant.result.rounds, 4);
}

TEST(WorkingSetsOfNumbers, FindFarLabelsAndColumnsFarFromZero) {
  const Case& c = kCases[0];
  Labelled data = test::rows_for(0, 300, 8, 13);
  for (double& y : data.y) y += 1e4;
  for (std::size_t i = 0; i < data.x.size(); i += 8) data.x[i] += 1e3;
  Labelled near = data;
  for (double& y : near.y) y -= 1e4;
  for (std::size_t i = 0; i < near.x.size(); i += 8) near.x[i] -= 1e3;
  const auto moved = test::train(c.kind, with_sets(c, 0.1), test::dataset(data));
  const auto plain = test::train(c.kind, with_sets(c, 0.1), test::dataset(near));
  EXPECT_NEAR(moved.result.objective, plain.result.objective, 1e-6 * plain.result.objective);
}

TEST(WorkingSetsOfNumbers, SeparateClassesWithWeights) {
  const Labelled data = test::rows_for(2, 200, 40, 23, 0.5);
  for (const Case& c : {kCases[1], kCases[2]}) {
    Parameters p = with_sets(c, c.l1);
    p.class_weight = OpenChoice<ClassWeight>("0:1,1:6");
    const auto ours = test::train(c.kind, p, test::dataset(data));
    SerialLinear serial{data, c.loss, 2, false, true, c.l1, 0};
    serial.class_weight = {1, 6};
    EXPECT_NEAR(ours.result.objective, serial.objective(serial.solve()), 1e-8);
    EXPECT_LT(violation(serial, ours.w), kViolation);
  }
}

// The path of three orthogonal columns has its kinks where a column's correlation is.
TEST(WorkingSetPath, HasTheKinksOfOrthogonalColumns) {
  Labelled data;
  data.cols = 3;
  const double correlations[] = {4, 2, 1};  // with the labels, over 4 rows
  const double columns[3][4] = {{1, 1, -1, -1}, {1, -1, 1, -1}, {1, -1, -1, 1}};
  for (std::size_t i = 0; i < 4; ++i) {
    double y = 10;
    for (std::size_t j = 0; j < 3; ++j) {
      data.x.push_back(columns[j][i]);
      y += correlations[j] * columns[j][i];
    }
    data.y.push_back(y);
  }
  Parameters p = with_sets(kCases[0], 0);
  p.path = 10, p.path_ratio = 1.0 / 16;
  const auto ours = test::train(Kind::kLinear, p, test::dataset(data), on(2));
  const Json path = ours.result.record.at("path");
  ASSERT_EQ(path.size(), 10u);
  for (std::size_t k = 0; k < 10; ++k) {
    const double l1 = path[k].at("l1").get<double>();
    EXPECT_NEAR(l1, 4 * std::pow(16.0, -static_cast<double>(k) / 9), 1e-12);
    double objective = 0;
    std::int64_t nonzeros = 0;
    for (const double r : correlations) {
      const double w = std::max(0.0, r - l1);
      objective += 0.5 * (r - w) * (r - w) + l1 * w;
      nonzeros += w > 1e-9;
    }
    EXPECT_NEAR(path[k].at("objective").get<double>(), objective, 1e-9);
    EXPECT_EQ(path[k].at("nonzeros").get<std::int64_t>(), nonzeros) << k;
  }
  for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(ours.w[j], correlations[j] - 0.25, 1e-7);
  EXPECT_NEAR(ours.w[3], 10, 1e-9);
}

TEST(WorkingSetPath, HasTheModelsOfItsPenalties) {
  for (const Case& c : kCases) {
    const auto rows = test::dataset(test::rows_for(c.classes, 120, 200, 33, 0.4));
    Parameters p = with_sets(c, 0, 1e-3);
    p.path = 8, p.path_ratio = 0.1;
    const auto path = test::train(c.kind, p, rows);
    std::int64_t before = -1;
    for (const Json& point : path.result.record.at("path")) {
      const auto alone =
          test::train(c.kind, with_sets(c, point.at("l1").get<double>(), 1e-3), rows);
      EXPECT_NEAR(point.at("objective").get<double>(), alone.result.objective, 1e-9);
      EXPECT_GE(point.at("rounds").get<std::int64_t>(), before);
      before = point.at("rounds").get<std::int64_t>();
    }
    EXPECT_EQ(path.result.record.at("chosen").at("l1"),
              path.result.record.at("path").back().at("l1"));
  }
}

TEST(WorkingSetPath, KeepsThePenaltyOfTheLowestHeldOutLoss) {
  const Case& c = kCases[1];
  const auto rows = test::dataset(test::rows_for(2, 400, 100, 43, 0.4, 4));
  Parameters p = with_sets(c, 0);
  p.tol = 1e-7, p.path = 30, p.path_ratio = 1e-3, p.validation_fraction = 0.3, p.patience = 5;
  const auto ours = test::train(c.kind, p, rows);
  const Json& record = ours.result.record;
  const Json& path = record.at("path");
  ASSERT_GT(path.size(), 6u);
  std::size_t best = 0;
  for (std::size_t k = 0; k < path.size(); ++k) {
    if (path[k].at("held_out_loss") < path[best].at("held_out_loss")) best = k;
  }
  EXPECT_EQ(record.at("chosen").at("l1"), path[best].at("l1"));
  EXPECT_NEAR(record.at("held_out_loss").get<double>(),
              path[best].at("held_out_loss").get<double>(), 1e-12);
  EXPECT_NEAR(ours.result.objective, path[best].at("objective").get<double>(), 1e-12);
  EXPECT_LT(path.size(), 30u) << "patience ends a path";
  EXPECT_EQ(path.size(), best + 6);
  EXPECT_THAT(ours.result.stopped_because, HasSubstr("has not fallen for 5 penalties"));
}

TEST(WorkingSetParameters, RefuseWhatMakesNoSense) {
  Parameters p;
  p.solver = Solver::kWorkingSet;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kLinear, p); }), HasSubstr("l1 above 0"));
  p.l1 = 0.1;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kSvm, p); }), HasSubstr("try squared_hinge"));
  p.loss = Loss::kHuber;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kLinear, p); }), HasSubstr("loss is huber"));
  p.loss = Loss::kSquared, p.send = Send::kGradient;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kLinear, p); }), HasSubstr("send is gradient"));
  p.send = Send::kModel, p.path = 10;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kLinear, p); }), HasSubstr("a path chooses l1"));
  p.l1 = 0, p.path = 1;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kLinear, p); }), HasSubstr("path is 1"));
  p.path = 10, p.path_ratio = 1;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kLinear, p); }), HasSubstr("path_ratio is 1"));
  p.path_ratio = 0.1, p.solver = Solver::kLbfgs;
  EXPECT_THAT(usage_error_of([&] { settled(Kind::kLinear, p); }),
              HasSubstr("goes with solver working-set"));
  p.solver = Solver::kWorkingSet, p.loss.reset();
  const auto rows = test::dataset(test::rows_for(3, 90, 5, 3));
  EXPECT_THAT(usage_error_of([&] { test::train(Kind::kLogistic, p, rows); }),
              HasSubstr("two classes"));
}

}  // namespace
}  // namespace meanwhile::learn::linear
