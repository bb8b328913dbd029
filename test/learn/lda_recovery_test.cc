// Documents drawn from known topics lead back to these.
#include <gtest/gtest.h>

#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda {
namespace {

constexpr std::size_t kTopics = 20, kWords = 1000;

// Otherwise finding them would say nothing.
TEST(LdaRecovery, IsOfTopicsThatDiffer) {
  const auto truth = test::draw_topics(kTopics, kWords, 1);
  for (std::size_t i = 0; i < kTopics; ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_LT(test::cosine(truth[i], truth[j]), 0.6);
  }
}

TEST(LdaRecovery, FindsTheTopicsThatDocumentsAreOf) {
  const auto truth = test::draw_topics(kTopics, kWords, 1);
  const data::Dataset data = test::dataset(test::draw_documents(truth, 3000, 40, 1));
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Parameters p;
    p.n_topics = kTopics;
    p.send = send;
    p.passes = 3;
    // Two topics that documents share are sometimes found as one, whatever the steps are.
    std::int64_t all = 0;
    constexpr std::int64_t kSeeds = 6;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto trained = test::train(p, data, test::with_shards(4, 2, seed));
      const auto other = test::train(p, data, test::with_shards(4, seed == 1 ? 1 : 3, seed));
      EXPECT_EQ(trained.lambda, other.lambda) << to_string(send) << ", seed " << seed;
      const auto cosines = test::matched(truth, test::by_topic(trained.lambda, kTopics));
      const auto found =
          std::count_if(cosines.begin(), cosines.end(), [](double c) { return c >= 0.9; });
      EXPECT_GE(found, 14) << to_string(send) << ", seed " << seed << ": "
                           << testing::PrintToString(cosines);
      all += found;
    }
    EXPECT_GE(all, 17 * kSeeds) << to_string(send);
  }
}

}  // namespace
}  // namespace meanwhile::learn::lda
