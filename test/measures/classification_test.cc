#include "meanwhile/measures/classification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace meanwhile::measures {
namespace {

using base::Json;

struct Row {
  std::size_t label, predicted;
  double weight;
};

Json measured(const std::vector<Row>& rows, std::size_t classes,
              const std::vector<double>& areas = {}) {
  Confusion confusion(classes);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < classes; ++k) names.push_back("class " + std::to_string(k));
  for (const Row& row : rows) confusion.add(row.label, row.predicted, row.weight);
  Json json = Json::object();
  add_classification(confusion, names, areas, json);
  return json;
}

// The weight of rows for which `is` holds, one pass a question.
template <class Is>
double weight_of(const std::vector<Row>& rows, const Is& is) {
  double sum = 0;
  for (const Row& row : rows) sum += is(row) ? row.weight : 0;
  return sum;
}

TEST(Classification, EachClassAgainstRowsThatAreCountedOneQuestionAtATime) {
  std::mt19937_64 random(3);
  constexpr std::size_t kClasses = 5;
  std::vector<Row> rows;
  for (int i = 0; i < 200; ++i) {
    rows.push_back({random() % kClasses, random() % kClasses, static_cast<double>(random() % 4)});
  }
  const Json json = measured(rows, kClasses);
  const double all = weight_of(rows, [](const Row&) { return true; });
  double recalls = 0, precisions = 0, f1s = 0, weighted_f1 = 0;
  for (std::size_t k = 0; k < kClasses; ++k) {
    const double right =
        weight_of(rows, [k](const Row& row) { return row.label == k && row.predicted == k; });
    const double labelled = weight_of(rows, [k](const Row& row) { return row.label == k; });
    const double predicted = weight_of(rows, [k](const Row& row) { return row.predicted == k; });
    const double precision = right / predicted, recall = right / labelled;
    const double f1 = 2 / (1 / precision + 1 / recall);
    const Json& mine = json["classes"][k];
    EXPECT_NEAR(mine["precision"], precision, 1e-14);
    EXPECT_NEAR(mine["recall"], recall, 1e-14);
    EXPECT_NEAR(mine["f1"], f1, 1e-14);
    EXPECT_EQ(mine["support"], labelled);
    precisions += precision / kClasses;
    recalls += recall / kClasses;
    f1s += f1 / kClasses;
    weighted_f1 += f1 * labelled / all;
    for (std::size_t j = 0; j < kClasses; ++j) {
      EXPECT_EQ(json["confusion"][k][j], weight_of(rows, [k, j](const Row& row) {
                  return row.label == k && row.predicted == j;
                }));
    }
  }
  EXPECT_NEAR(json["precision_macro"], precisions, 1e-14);
  EXPECT_NEAR(json["recall_macro"], recalls, 1e-14);
  EXPECT_NEAR(json["balanced_accuracy"], recalls, 1e-14);
  EXPECT_NEAR(json["f1_macro"], f1s, 1e-14);
  EXPECT_NEAR(json["f1_weighted"], weighted_f1, 1e-14);
}

TEST(Classification, WeightTwoIsTheRowTwice) {
  const std::vector<Row> weighted = {{0, 1, 2}, {1, 1, 1}, {0, 0, 3}};
  const std::vector<Row> repeated = {{0, 1, 1}, {0, 1, 1}, {1, 1, 1},
                                     {0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
  EXPECT_EQ(measured(weighted, 2), measured(repeated, 2));
}

TEST(Classification, AClassThatIsNeitherLabelNorPredictionCountsInNoMean) {
  // Class 1 is never predicted; class 2 is no label; class 3 does not occur.
  const Json json = measured({{0, 0, 1}, {0, 2, 1}, {1, 0, 1}, {1, 0, 1}}, 4);
  EXPECT_TRUE(json["classes"][1]["precision"].is_null());
  EXPECT_EQ(json["classes"][1]["recall"], 0);
  EXPECT_TRUE(json["classes"][2]["recall"].is_null());
  EXPECT_EQ(json["classes"][2]["precision"], 0);
  EXPECT_TRUE(json["classes"][3]["f1"].is_null());
  EXPECT_NEAR(json["precision_macro"], (1.0 / 3 + 0 + 0) / 3, 1e-15);
  EXPECT_NEAR(json["recall_macro"], 0.5 / 3, 1e-15);
  EXPECT_NEAR(json["balanced_accuracy"], 0.25, 1e-15);  // of the two that are labels
  EXPECT_NEAR(json["recall_weighted"], 0.25, 1e-15);
}

TEST(Classification, OneClassAlone) {
  const Json json = measured({{1, 1, 1}, {1, 1, 2}}, 2);
  EXPECT_EQ(json["f1_macro"], 1);
  EXPECT_EQ(json["balanced_accuracy"], 1);
  EXPECT_EQ(json["confusion"], (Json{{0, 0}, {0, 3}}));
}

TEST(Classification, NoWeightAtAllHasNoMeans) {
  const Json json = measured({{0, 1, 0}}, 2);
  EXPECT_TRUE(json["balanced_accuracy"].is_null());
  EXPECT_TRUE(json["f1_weighted"].is_null());
}

TEST(Classification, AreasThatThereAreNotAreLeftOutOfMeans) {
  const Json json = measured({{0, 0, 3}, {1, 0, 1}}, 3, {0.5, 0.9, NAN});
  EXPECT_EQ(json["classes"][0]["auc"], 0.5);
  EXPECT_TRUE(json["classes"][2]["auc"].is_null());
  EXPECT_NEAR(json["auc_macro"], 0.7, 1e-15);
  EXPECT_NEAR(json["auc_weighted"], (3 * 0.5 + 0.9) / 4, 1e-15);
}

TEST(Classification, TooManyClassesForATable) {
  const Json json = measured({{0, 1, 1}, {1200, 1200, 1}}, kMostConfused + 300);
  EXPECT_TRUE(json["confusion"].is_null());
  EXPECT_EQ(json["classes"][1200]["recall"], 1);
}

}  // namespace
}  // namespace meanwhile::measures
