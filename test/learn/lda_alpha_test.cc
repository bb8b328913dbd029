// The prior of documents' topics: found again from what it leads to, and learned in training.
#include <gtest/gtest.h>

#include <numeric>

#include "meanwhile/learn/lda/alpha.h"
#include "test/learn/lda_serial.h"

namespace meanwhile::learn::lda {
namespace {

// Means of log theta under Dirichlet(alpha).
std::vector<double> means_under(const std::vector<double>& alpha) {
  const double sum = std::accumulate(alpha.begin(), alpha.end(), 0.0);
  std::vector<double> means;
  for (const double a : alpha) means.push_back(test::digamma(a) - test::digamma(sum));
  return means;
}

TEST(LdaAlpha, IsFoundAgainFromTheMeansItLeadsTo) {
  const std::vector<std::vector<double>> cases = {
      {0.5, 0.5}, {0.1, 0.1, 0.1, 0.1}, {3, 0.02, 0.7, 0.0005, 40}, {90, 80, 70}, {1e-3, 2e-3, 50}};
  for (const auto& alpha : cases) {
    for (const double start : {1e-3, 0.1, 1.0, 50.0}) {
      const auto found =
          likeliest_alpha(means_under(alpha), std::vector<double>(alpha.size(), start));
      EXPECT_LT(test::off_by(found, alpha), 1e-5) << testing::PrintToString(alpha) << " from "
                                                  << start << ": " << testing::PrintToString(found);
    }
  }
}

TEST(LdaAlpha, OfManyTopics) {
  std::vector<double> alpha;
  for (int k = 1; k <= 500; ++k) alpha.push_back(2.0 / k);
  const auto found = likeliest_alpha(means_under(alpha), std::vector<double>(500, 1. / 500));
  EXPECT_LT(test::off_by(found, alpha), 1e-5);
}

TEST(LdaAlpha, StaysWhereItIsLikeliest) {
  const std::vector<double> alpha = {0.3, 2, 0.01};
  EXPECT_LT(test::off_by(likeliest_alpha(means_under(alpha), alpha), alpha), 1e-9);
}

TEST(LdaAlpha, OfOneTopicSaysNothing) {
  EXPECT_EQ(likeliest_alpha(std::vector<double>{0.0}, std::vector<double>{0.7}),
            std::vector<double>{0.7});
}

// Mixtures that are all the same, or in which a topic never is, are likeliest beyond all bounds.
TEST(LdaAlpha, KeepsWithinItsLimits) {
  const std::vector<std::vector<double>> cases = {{std::log(0.5), std::log(0.5)},
                                                  {std::log(0.01), std::log(0.99)},
                                                  {-1e6, -1e6, -1e6},
                                                  {-1e-9, -1e9},
                                                  {-1e5, -0.1, -3}};
  for (const auto& means : cases) {
    for (const double start : {1e-4, 0.1, 100.0}) {
      const auto found = likeliest_alpha(means, std::vector<double>(means.size(), start));
      for (const double a : found) {
        EXPECT_TRUE(a >= 1e-4 && a <= 100)
            << testing::PrintToString(means) << " from " << start << ": " << a;
      }
    }
  }
}

TEST(LdaAlpha, IsLargeForTopicsThatAreEverywhere) {
  const auto truth = test::draw_topics(3, 300, 1);
  const auto documents = test::draw_documents(truth, 1500, 30, 1, 0.5);
  Parameters p;
  p.n_topics = 3, p.passes = 5, p.alpha = 0.2;
  for (const Send send : {Send::kModel, Send::kGradient}) {
    p.send = send;
    p.learn_alpha = true;
    const auto trained = test::train(p, test::dataset(documents), test::with_shards(4));
    // Topics of the truth, each with the alpha of the topic nearest to it.
    std::vector<double> alphas;
    for (const auto& topic : truth) {
      std::size_t best = 0;
      const auto found = test::by_topic(trained.lambda, 3);
      for (std::size_t k = 0; k < 3; ++k) {
        if (test::cosine(topic, found[k]) > test::cosine(topic, found[best])) best = k;
      }
      alphas.push_back(trained.alpha[best]);
    }
    EXPECT_GT(alphas[0], 1.5 * alphas[1]) << to_string(send);
    EXPECT_GT(alphas[1], 1.5 * alphas[2]) << to_string(send);
    p.learn_alpha = false;
    EXPECT_EQ(test::train(p, test::dataset(documents), test::with_shards(4)).alpha,
              std::vector<double>(3, 0.2));
  }
}

}  // namespace
}  // namespace meanwhile::learn::lda
