#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "meanwhile/learn/linear/measures.h"
#include "test/expect_error.h"
#include "test/learn/linear_data.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using testing::HasSubstr;

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
  // Residuals of the first: 0, 0, 3.
  const Json quantiles = m["residual_quantiles"];
  EXPECT_EQ(quantiles["min"], 0);
  EXPECT_EQ(quantiles["p50"], 0);
  EXPECT_EQ(quantiles["p75"], 3);
  EXPECT_EQ(quantiles["max"], 3);
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
  EXPECT_EQ(m["confusion"], (Json{{1, 0}, {0, 3}}));
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
  EXPECT_EQ(m["confusion"], (Json{{1, 1, 0}, {0, 1, 0}, {0, 0, 1}}));
  EXPECT_EQ(m["classes"][2]["class"], "6");
  // Both rows of class 0 have a larger probability of it than the others.
  EXPECT_EQ(m["classes"][0]["auc"], 1);
}

TEST(LinearMeasures, MarginsRankTheClassesOfAModelWithoutProbabilities) {
  Model model = classifier({0, 1, 0, 0, 0, 1, 0.5, 0, 0}, {4, 5, 6});
  model.kind = Kind::kSvm;
  model.loss = {Loss::kHinge};
  model.softmax = false;
  model.parameters = {{"loss", "hinge"}};
  const Labelled data = {{2, 0, 3, 2, 0, 0, 1, 0}, {5, 6, 4, 6}, {1, 2, 1, 1}, 2};
  const Json m = evaluate(model, test::dataset(data), 2);
  EXPECT_EQ(m["classes"][1]["auc"], 0.5);               // 2 against 3 (twice), 0 and 1
  EXPECT_NEAR(m["classes"][2]["auc"], 5.0 / 6, 1e-15);  // 2 (twice) and 0 against 0 and 0
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
