// Labels of every kind, weights of rows and classes, scales of columns.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "test/learn/linear_serial.h"

namespace meanwhile::learn::linear {
namespace {

using test::distance;
using test::Labelled;
using test::SerialLinear;
using test::Storage;

Parameters exact() {
  Parameters p;
  p.solver = Solver::kLbfgs, p.l2 = 1e-2, p.tol = 1e-12, p.max_iter = 1000;
  return p;
}

TEST(LinearLabels, AnyTwoNumbersAreTwoClasses) {
  const Labelled zero_one = test::rows_for(2, 300, 4, 1);
  const auto expected = test::train(Kind::kLogistic, exact(), test::dataset(zero_one));
  const std::pair<double, double> pairs[] = {{-1, 1}, {1, 2}, {3, 7}, {-0.5, 1e9}};
  for (const auto& [low, high] : pairs) {
    Labelled data = zero_one;
    for (double& y : data.y) y = y > 0 ? high : low;
    const data::Dataset rows = test::dataset(data);
    const auto ours = test::train(Kind::kLogistic, exact(), rows);
    EXPECT_EQ(ours.w, expected.w) << low << ' ' << high;
    EXPECT_EQ(ours.model.classes, (std::vector{low, high}));
    std::size_t right = 0;
    const std::vector<double> predicted = predict(ours.model, rows, 2);
    for (std::size_t i = 0; i < predicted.size(); ++i) right += predicted[i] == data.y[i];
    EXPECT_GT(right, 220U);
    EXPECT_NEAR(evaluate(ours.model, rows, 2)["accuracy"], static_cast<double>(right) / 300, 1e-12);
  }
}

TEST(LinearLabels, WordsAreNamesOfClasses) {
  Labelled data = test::rows_for(3, 400, 4, 2);
  data.class_names = {"spruce", "pine", "fir"};
  const auto ours = test::train(Kind::kLogistic, exact(), test::dataset(data));
  EXPECT_EQ(ours.model.class_names, data.class_names);
  EXPECT_EQ(ours.model.class_label(1), "pine");
  // Another file may have met the words in another order.
  Labelled other = data;
  other.class_names = {"fir", "spruce", "pine"};
  for (double& y : other.y) y = static_cast<double>((static_cast<int>(y) + 1) % 3);
  EXPECT_EQ(evaluate(ours.model, test::dataset(other), 1),
            evaluate(ours.model, test::dataset(data), 1));
}

TEST(LinearLabels, ClassWeightsGoByWord) {
  Labelled data = test::rows_for(2, 300, 4, 3);
  Parameters p = exact();
  p.class_weight = OpenChoice<ClassWeight>("1:3");
  const auto by_number = test::train(Kind::kSvm, p, test::dataset(data));
  data.class_names = {"no", "yes"};
  p.class_weight = OpenChoice<ClassWeight>("yes:3,no:1");
  EXPECT_EQ(test::train(Kind::kSvm, p, test::dataset(data)).w, by_number.w);
}

TEST(LinearLabels, SoftmaxAndOneAgainstTheRestBothLearnManyClasses) {
  const Labelled data = test::rows_for(5, 1500, 6, 4, 1, 0.1);
  const data::Dataset rows = test::dataset(data);
  Parameters p;
  p.multi_class = MultiClass::kSoftmax;
  const auto softmax = test::train(Kind::kLogistic, p, rows);
  p.multi_class = MultiClass::kOvr;
  const auto ovr = test::train(Kind::kLogistic, p, rows);
  const auto svm = test::train(Kind::kSvm, p, rows);
  EXPECT_TRUE(softmax.model.softmax);
  EXPECT_FALSE(ovr.model.softmax);
  EXPECT_GT(evaluate(softmax.model, rows, 1)["accuracy"], 0.93);
  EXPECT_GT(evaluate(ovr.model, rows, 1)["accuracy"], 0.8);
  EXPECT_GT(evaluate(svm.model, rows, 1)["accuracy"], 0.8);
  for (const auto* trained : {&softmax, &ovr}) {
    std::vector<double> z(5);
    margins(trained->model, rows, 7, 8, 1, z);
    std::vector<double> probability(trained->model.classes.size());
    probabilities(trained->model, z, probability);
    EXPECT_NEAR(std::accumulate(probability.begin(), probability.end(), 0.0), 1, 1e-12);
  }
}

TEST(LinearWeights, WeightTwoIsTheRowTwice) {
  for (const Kind kind : {Kind::kLogistic, Kind::kLinear}) {
    Labelled once = test::rows_for(kind == Kind::kLinear ? 0 : 2, 200, 3, 5);
    std::vector<std::size_t> copies;
    for (std::size_t i = 0; i < 200; ++i) {
      once.weights.push_back(static_cast<double>(i % 4));
      copies.insert(copies.end(), i % 4, i);
    }
    Labelled repeated = test::in_order(once, copies);
    repeated.weights.clear();
    for (const bool standardize : {false, true}) {
      Parameters p = exact();
      p.standardize = standardize;
      const auto a = test::train(kind, p, test::dataset(once));
      const auto b = test::train(kind, p, test::dataset(repeated));
      EXPECT_LT(distance(a.w, b.w), 1e-6);
      EXPECT_NEAR(a.result.objective, b.result.objective, 1e-9);
    }
  }
}

TEST(LinearWeights, WeightZeroIsTheRowAbsent) {
  Labelled all = test::rows_for(2, 300, 3, 6);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < 300; ++i) {
    all.weights.push_back(i % 3 == 0 ? 0 : 1);
    if (i % 3 != 0) kept.push_back(i);
    if (i % 3 == 0) all.x[i * 3] = 1e6, all.y[i] = 1 - all.y[i];
  }
  const Labelled some = test::in_order(all, kept);
  for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
    const auto a = test::train(Kind::kLogistic, exact(), test::dataset(all, storage));
    const auto b = test::train(Kind::kLogistic, exact(), test::dataset(some, storage));
    EXPECT_LT(distance(a.w, b.w), 1e-6);
  }
}

TEST(LinearWeights, BalancedIsTheSameWeightsByHand) {
  Labelled data = test::rows_for(3, 300, 3, 7);
  std::vector<double> count(3);
  for (const double y : data.y) count[static_cast<std::size_t>(y)] += 1;
  Parameters p = exact();
  p.class_weight = ClassWeight::kBalanced;
  const auto balanced = test::train(Kind::kLogistic, p, test::dataset(data));
  std::string weights;
  for (std::size_t k = 0; k < 3; ++k) {
    weights += fmt::format("{}{}:{:.17g}", k == 0 ? "" : ",", k, 100 / count[k]);
  }
  p.class_weight = OpenChoice<ClassWeight>(weights);
  const auto by_hand = test::train(Kind::kLogistic, p, test::dataset(data));
  EXPECT_LT(distance(balanced.w, by_hand.w), 1e-6);
  for (const double y : data.y) data.weights.push_back(100 / count[static_cast<std::size_t>(y)]);
  p.class_weight = ClassWeight::kNone;
  EXPECT_LT(distance(test::train(Kind::kLogistic, p, test::dataset(data)).w, by_hand.w), 1e-6);
}

TEST(LinearWeights, ClassWeightsMoveTheOptimumAsTheyShould) {
  const Labelled data = test::rows_for(2, 150, 3, 8, 1, 2);
  Parameters p = exact();
  p.class_weight = OpenChoice<ClassWeight>("0:0.2,1:5");
  const auto ours = test::train(Kind::kLogistic, p, test::dataset(data));
  SerialLinear serial{data, "logistic", 2};
  serial.l2 = 1e-2, serial.class_weight = {0.2, 5};
  EXPECT_NEAR(ours.result.objective, serial.objective(serial.solve()), 1e-8);
}

TEST(LinearScale, AColumnTimesAThousandPredictsTheSameWhenStandardised) {
  Labelled data = test::rows_for(2, 300, 4, 9, 0.7);
  Labelled scaled = data;
  for (std::size_t i = 0; i < 300; ++i) scaled.x[i * 4 + 1] *= 1000;
  Parameters p = exact();
  p.l1 = 1e-3, p.standardize = true;
  for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
    const data::Dataset a = test::dataset(data, storage), b = test::dataset(scaled, storage);
    std::vector<double> za(300), zb(300);
    margins(test::train(Kind::kLogistic, p, a).model, a, 0, 300, 1, za);
    margins(test::train(Kind::kLogistic, p, b).model, b, 0, 300, 1, zb);
    EXPECT_LT(distance(za, zb), 1e-5);
  }
  // Which is no matter of course.
  p.standardize = false;
  const auto plain = test::train(Kind::kLogistic, p, test::dataset(data)).w;
  const auto other = test::train(Kind::kLogistic, p, test::dataset(scaled)).w;
  EXPECT_GT(std::abs(plain[1] - 1000 * other[1]), 1e-3);
}

TEST(LinearScale, StandardisedPenaltiesAreThoseOfUnitVariance) {
  Labelled data = test::rows_for(2, 200, 3, 10, 0.6);
  for (std::size_t i = 0; i < 200; ++i) data.x[i * 3] = data.x[i * 3] * 20 + 3;
  SerialLinear serial{data, "logistic", 2};
  serial.l2 = 0.05, serial.l1 = 0.01;
  for (std::size_t j = 0; j < 3; ++j) {
    double first = 0, second = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      first += data.x[i * 3 + j] / 200, second += data.x[i * 3 + j] * data.x[i * 3 + j] / 200;
    }
    serial.factor.push_back(std::sqrt(second - first * first));
  }
  Parameters p = exact();
  p.l2 = 0.05, p.l1 = 0.01, p.standardize = true;
  const auto ours = test::train(Kind::kLogistic, p, test::dataset(data));
  const double optimum = serial.objective(serial.solve(100000));
  EXPECT_NEAR(ours.result.objective, serial.objective(ours.w), 1e-10);
  EXPECT_LT(ours.result.objective, optimum * (1 + 1e-6));
}

TEST(LinearScale, SparseAndDenseGiveOneModel) {
  const Labelled data = test::rows_for(3, 400, 6, 11, 0.4);
  for (const bool standardize : {false, true}) {
    for (const double l1 : {0.0, 1e-3}) {
      Parameters p = exact();
      p.standardize = standardize, p.l1 = l1;
      const auto sparse = test::train(Kind::kLogistic, p, test::dataset(data));
      const auto dense = test::train(Kind::kLogistic, p, test::dataset(data, Storage::kDense));
      // They come to the optimum on different ways, as near as their objective tells.
      EXPECT_LT(distance(sparse.w, dense.w), 1e-5) << standardize << l1;
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::linear
