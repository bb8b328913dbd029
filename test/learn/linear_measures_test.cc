#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "meanwhile/learn/linear/measures.h"
#include "test/expect_error.h"
#include "test/learn/linear_data.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using testing::HasSubstr;

// By its definition: of all pairs, how many are in order.
double auc_by_pairs(const std::vector<double>& scores, const std::vector<double>& positive,
                    const std::vector<double>& weights) {
  double right = 0, all = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (positive[i] == 0 || positive[j] == 1) continue;
      const double w = weights.empty() ? 1 : weights[i] * weights[j];
      all += w;
      right += w * (scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0);
    }
  }
  return right / all;
}

TEST(LinearMeasures, AucIsThatOfAllPairsTiesAndWeightsIncluded) {
  std::mt19937_64 random(1);
  for (const int levels : {2, 7, 1000000}) {
    std::vector<double> scores, positive, weights;
    for (int i = 0; i < 300; ++i) {
      scores.push_back(static_cast<double>(random() % static_cast<unsigned>(levels)));
      positive.push_back(random() % 3 == 0 ? 1 : 0);
      weights.push_back(static_cast<double>(random() % 5));
    }
    EXPECT_NEAR(auc(scores, positive, {}), auc_by_pairs(scores, positive, {}), 1e-12);
    EXPECT_NEAR(auc(scores, positive, weights), auc_by_pairs(scores, positive, weights), 1e-12);
  }
}

TEST(LinearMeasures, AucAtItsEnds) {
  const std::vector<double> scores = {1, 2, 3, 4}, up = {0, 0, 1, 1}, down = {1, 1, 0, 0};
  EXPECT_EQ(auc(scores, up, {}), 1);
  EXPECT_EQ(auc(scores, down, {}), 0);
  EXPECT_EQ(auc(std::vector<double>(4, 7.0), up, {}), 0.5);
  EXPECT_TRUE(std::isnan(auc(scores, std::vector<double>(4, 1.0), {})));
  EXPECT_TRUE(std::isnan(auc(std::vector<double>{1, NAN, 2, 3}, up, {})));
}

Model regression(std::vector<double> w) {
  Model model;
  model.kind = Kind::kLinear;
  model.loss = {Loss::kSquared};
  model.cols = static_cast<std::int64_t>(w.size()) - 1;
  model.w = std::move(w);
  model.parameters = {{"loss", "squared"}, {"l2", 0.5}, {"l1", 0.25}};
  return model;
}

TEST(LinearMeasures, OfRegressionByHand) {
  const Labelled data = {{1, 2, 3}, {3, 5, 10}, {}, 1};
  const Json m = evaluate(regression({2, 1}), test::dataset(data), 1);  // predicts 3, 5, 7
  EXPECT_NEAR(m["rmse"], std::sqrt(3.0), 1e-14);
  EXPECT_NEAR(m["mae"], 1, 1e-14);
  EXPECT_NEAR(m["r2"], 1 - 9.0 / 26, 1e-14);
  EXPECT_NEAR(m["loss"], 1.5, 1e-14);
  EXPECT_NEAR(m["objective"], 1.5 + 0.25 * 2 + 0.25 * 4, 1e-14);
  Labelled weighted = {{1, 3}, {3, 10}, {1, 3}, 1};
  EXPECT_NEAR(evaluate(regression({2, 1}), test::dataset(weighted), 1)["r2"],
              1 - 27.0 / (3 * 7 * 7 / 4.0), 1e-14);
  // Labels far from zero: no digits are lost.
  const Labelled far = {{1, 2, 3}, {1e9 + 3, 1e9 + 5, 1e9 + 10}, {}, 1};
  EXPECT_NEAR(evaluate(regression({2, 1e9 + 1}), test::dataset(far), 1)["r2"], 1 - 9.0 / 26, 1e-9);
  const Labelled constant = {{1, 2}, {4, 4}, {}, 1};
  EXPECT_TRUE(evaluate(regression({2, 1}), test::dataset(constant), 1)["r2"].is_null());
}

Model classifier(std::vector<double> w, std::vector<double> classes) {
  Model model = regression(std::move(w));
  model.kind = Kind::kLogistic;
  model.loss = {Loss::kLogistic};
  model.parameters = {{"loss", "logistic"}, {"l2", 0}};
  model.outputs = classes.size() > 2 ? classes.size() : 1;
  model.cols = static_cast<std::int64_t>(model.w.size() / model.outputs) - 1;
  model.softmax = classes.size() > 2;
  model.classes = std::move(classes);
  return model;
}

TEST(LinearMeasures, LogLossIsThatOfTheProbabilities) {
  const Labelled data = {{-1, 0, 2}, {3, 7, 7}, {1, 2, 1}, 1};
  const Json m = evaluate(classifier({1, 0.5}, {3, 7}), test::dataset(data), 1);
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  const double expected =
      -(std::log(sigmoid(0.5)) + 2 * std::log(sigmoid(0.5)) + std::log(sigmoid(2.5))) / 4;
  EXPECT_NEAR(m["log_loss"], expected, 1e-14);
  EXPECT_NEAR(m["loss"], expected, 1e-14);
  EXPECT_EQ(m["accuracy"], 1);
  EXPECT_EQ(m["auc"], 1);
}

TEST(LinearMeasures, OfSoftmax) {
  // Column 0 for class 1, column 1 for class 2; class 0 has nothing but its intercept.
  const Model model = classifier({0, 1, 0, 0, 0, 1, 0.5, 0, 0}, {4, 5, 6});
  const Labelled data = {{2, 0, 0, 2, 0, 0, 1, 0}, {5, 6, 4, 4}, {}, 2};
  const Json m = evaluate(model, test::dataset(data), 1);
  EXPECT_EQ(m["accuracy"], 0.75);
  const double one = std::exp(0.5) + std::exp(2.0) + 1, none = std::exp(0.5) + 2,
               wrong = std::exp(0.5) + std::exp(1.0) + 1;
  const double expected = -(2 * std::log(std::exp(2.0) / one) + std::log(std::exp(0.5) / none) +
                            std::log(std::exp(0.5) / wrong)) /
                          4;
  EXPECT_NEAR(m["log_loss"], expected, 1e-14);
  EXPECT_FALSE(m.contains("auc"));
}

TEST(LinearMeasures, ALabelThatIsNoClassIsNamedWithItsRow) {
  const Model model = classifier({1, 0}, {3, 7});
  const Labelled data = {{1, 2, 3, 4}, {3, 7, 5, 3}, {}, 1};
  EXPECT_THAT(input_error_of([&] { evaluate(model, test::dataset(data), 1); }),
              HasSubstr("row 2: label 5 is none of the model's 2 classes (3 to 7)"));
  Labelled words = {{1, 2}, {0, 1}, {}, 1, {"a", "b"}};
  EXPECT_THAT(input_error_of([&] { evaluate(model, test::dataset(words), 1); }),
              HasSubstr("row 0: label a"));
  EXPECT_THAT(input_error_of([&] {
                evaluate(model, test::sparse<double>({1, 2}, 1), 1);
              }),
              HasSubstr("no labels"));
}

TEST(LinearMeasures, ColumnsBeyondTheModelCountNothing) {
  const Model model = classifier({1, 0}, {0, 1});
  const Labelled wide = {{1, 9, 0, -9, 2, 0}, {1, 0, 1}, {}, 2};
  std::vector<double> z(3);
  margins(model, test::dataset(wide), 0, 3, 2, z);
  EXPECT_EQ(z, (std::vector<double>{1, 0, 2}));
}

}  // namespace
}  // namespace meanwhile::learn::linear
