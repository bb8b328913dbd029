#include "meanwhile/measures/auc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace meanwhile::measures {
namespace {

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

TEST(Auc, IsThatOfAllPairsTiesAndWeightsIncluded) {
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

TEST(Auc, AtItsEnds) {
  const std::vector<double> scores = {1, 2, 3, 4}, up = {0, 0, 1, 1}, down = {1, 1, 0, 0};
  EXPECT_EQ(auc(scores, up, {}), 1);
  EXPECT_EQ(auc(scores, down, {}), 0);
  EXPECT_EQ(auc(std::vector<double>(4, 7.0), up, {}), 0.5);
  EXPECT_TRUE(std::isnan(auc(scores, std::vector<double>(4, 1.0), {})));
  EXPECT_TRUE(std::isnan(auc(std::vector<double>{1, NAN, 2, 3}, up, {})));
}

TEST(Auc, OfClassesIsThatOfEachAgainstTheRest) {
  std::mt19937_64 random(2);
  std::vector<double> scores, labels, weights;
  for (int i = 0; i < 90; ++i) {
    for (int k = 0; k < 4; ++k) scores.push_back(static_cast<double>(random() % 9));
    labels.push_back(static_cast<double>(random() % 3));  // class 3 is absent
    weights.push_back(static_cast<double>(random() % 4));
  }
  const auto areas = auc_of_classes(scores, 4, labels, weights, 3);
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<double> mine, positive;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      mine.push_back(scores[i * 4 + k]);
      positive.push_back(labels[i] == static_cast<double>(k) ? 1 : 0);
    }
    EXPECT_NEAR(areas[k], auc_by_pairs(mine, positive, weights), 1e-12) << k;
  }
  EXPECT_TRUE(std::isnan(areas[3]));
}

}  // namespace
}  // namespace meanwhile::measures
