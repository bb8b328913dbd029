// Memory that the sampler says it takes, against the sizes of what it holds.
#include <gtest/gtest.h>

#include "meanwhile/exchange/sum.h"
#include "meanwhile/learn/lda/sampled/memory.h"
#include "meanwhile/learn/lda/sampled/sampled.h"
#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda::sampled {
namespace {

constexpr int kShards = 5;

Parameters parameters(std::int64_t topics) {
  Parameters p;
  p.sampler = Sampler::kMh, p.n_topics = topics, p.passes = 3, p.tol = 0;
  return p;
}

class SampledMemory : public ::testing::Test {
 protected:
  SampledMemory() {
    const test::Documents documents =
        test::draw_documents(test::draw_topics(8, 300, 1), 400, 60, 2);
    part_ = data::whole(test::dataset(documents), kShards, 3, base::Threads(2));
    shape_ = {data::rows(part_.data.x), data::cols(part_.data.x), data::stored(part_.data.x)};
    shape_.sparse = true;
    for (const auto& row : documents.rows) {
      for (const auto& [word, count] : row) shape_.total += count;
    }
  }

  // Calls round(total) after each round.
  template <class Round>
  void run(Sampled& sampler, bool alone, Round&& round) {
    sampler.attach({&part_, nullptr, 3, false, &pool_, false, alone});
    std::vector<ShardMemory> memory;
    for (int s = 0; s < kShards; ++s) memory.emplace_back(sampler.memory_shape(s));
    for (bool done = false; !done;) {
      exchange::OrderedSum sum(kShards, sampler.update_shape());
      for (int s = 0; s < kShards; ++s) {
        exchange::Update update = sum.take();
        sampler.work(s, memory[static_cast<std::size_t>(s)], update);
        sum.give(s, std::move(update));
      }
      done = sampler.absorb(sum.total()).done();
      round(sum.total());
    }
  }

  double memory_of_shards(std::int64_t topics) {
    Sampled sampler(parameters(topics));
    sampler.attach({&part_, nullptr, 3, false, &pool_, false, true});
    double bytes = 0;
    for (int s = 0; s < kShards; ++s) {
      bytes += static_cast<double>(ShardMemory(sampler.memory_shape(s)).bytes());
    }
    return bytes;
  }

  base::ThreadPool pool_{2};
  data::Part part_;
  Shape shape_;
};

TEST_F(SampledMemory, TopicsOfTokensAreTheMemoryOfShards) {
  for (const std::int64_t topics : {100L, 70'000L}) {
    const Memory said = memory_of(parameters(topics), shape_, {1, 2, kShards});
    EXPECT_EQ(said.topics, memory_of_shards(topics)) << topics;
  }
  // Three of five shards are the most that one of two workers has.
  const Memory half = memory_of(parameters(100), shape_, {2, 2, kShards});
  EXPECT_NEAR(half.topics, 0.6 * memory_of_shards(100), 1);
}

// Two tokens for each count, where the sum of counts is not known.
TEST_F(SampledMemory, TokensAreGuessedWhereTheyAreNotKnown) {
  shape_.total = 0;
  EXPECT_EQ(memory_of(parameters(100), shape_, {1, 2, kShards}).topics,
            2 * 2 * static_cast<double>(shape_.stored));
}

TEST_F(SampledMemory, CountsOfWordsAndTopicsFit) {
  for (const std::int64_t topics : {10L, 100L}) {
    Sampled sampler(parameters(topics));
    const Memory said = memory_of(parameters(topics), shape_, {1, 2, kShards});
    double most = 0;
    run(sampler, true, [&](const exchange::Update&) {
      // A topic and a count of 4 bytes for each pair, and a topic of 2 for each token.
      most = std::max(most, 8 * static_cast<double>(sampler.counts().held()) + 2 * shape_.total);
    });
    EXPECT_LE(most, said.counts) << topics;
    EXPECT_GE(12 * most, said.counts) << topics;
  }
}

// The pages of counts are what makes updates large.
TEST_F(SampledMemory, UpdatesFit) {
  Sampled sampler(parameters(200));
  // A thread, a sum of two shards, and what is exchanged: three updates, and one of them for the
  // other worker.
  const double said = memory_of(parameters(200), shape_, {2, 1, kShards}).changes / 4;
  double most = 0;
  run(sampler, false, [&](const exchange::Update& total) {
    if (total.shape()[0].sparse) most = std::max(most, static_cast<double>(total.bytes()));
  });
  EXPECT_LE(most, said);
  EXPECT_GE(2 * most, said);
}

TEST_F(SampledMemory, ThreadsHaveTilesAndShareTheRest) {
  const auto of = [&](int threads, std::int64_t batch = 0) {
    Parameters p = parameters(100);
    p.batch_size = batch;
    return memory_of(p, shape_, {1, threads, kShards});
  };
  EXPECT_EQ(of(4).tiles, 4 * of(1).tiles);
  EXPECT_EQ(of(64).tiles, 5 * of(1).tiles);  // as many as shards
  EXPECT_EQ(of(4).counts, of(1).counts);
  EXPECT_LT(of(1, 40).changes, of(1).changes);
  Parameters exact = parameters(100);
  exact.exact = true;
  EXPECT_EQ(memory_of(exact, shape_, {1, 1, kShards}).drawn, 12.0 * 300 * 100);
}

}  // namespace
}  // namespace meanwhile::learn::lda::sampled
