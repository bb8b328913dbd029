// The number of shards must move neither first topics nor the quality of topics.
#include <gtest/gtest.h>

#include <algorithm>

#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda {
namespace {

constexpr std::size_t kTopics = 20, kWords = 600;
constexpr int kShards[] = {2, 8, 32};

Parameters parameters(Send send, std::int64_t passes) {
  Parameters p;
  p.n_topics = kTopics, p.send = send, p.passes = passes, p.tol = 0;
  return p;
}

class LdaShards : public testing::Test {
 protected:
  const std::vector<std::vector<double>> truth_ = test::draw_topics(kTopics, kWords, 1);
  const data::Dataset data_ = test::dataset(test::draw_documents(truth_, 3000, 40, 1));
  const data::Dataset held_ = test::dataset(test::draw_documents(truth_, 300, 40, 2));

  // Largest over smallest held-out perplexity.
  double spread(const Parameters& p, std::uint64_t seed) const {
    double least = INFINITY, most = 0;
    for (const int shards : kShards) {
      const data::Part eval = data::whole(data::Dataset(held_), shards, 1, 1);
      job::TrainOptions options = test::with_shards(shards, 2, seed);
      options.eval = &eval;
      const double found = test::train(p, data_, options).result.record["held_out_perplexity"];
      least = std::min(least, found);
      most = std::max(most, found);
    }
    return most / least;
  }
};

TEST_F(LdaShards, TheSampleAndTheFirstTopicsAreTheSame) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const auto two =
        test::train(parameters(Send::kGradient, 1), data_, test::with_shards(2, 2, seed));
    for (const int shards : {1, 7, 32}) {
      const auto other =
          test::train(parameters(Send::kGradient, 1), data_, test::with_shards(shards, 2, seed));
      EXPECT_EQ(two.first, other.first) << shards << " shards, seed " << seed;
    }
  }
}

TEST_F(LdaShards, OtherSeedsTakeOtherSamples) {
  const auto one = test::train(parameters(Send::kGradient, 1), data_, test::with_shards(2, 2, 1));
  const auto two = test::train(parameters(Send::kGradient, 1), data_, test::with_shards(2, 2, 2));
  EXPECT_NE(one.first, two.first);
}

// By default.
TEST_F(LdaShards, PerplexityIsTheSame) {
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const std::int64_t passes : {1, 5}) {
      const double by = spread(parameters(Parameters().send, passes), seed);
      EXPECT_LT(by, 1.01) << passes << " passes, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::lda
