// One answer: the same bits for any number of threads and nodes, either exchange, and every
// instruction set.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "meanwhile/base/simd.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/transport/threads.h"
#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda {
namespace {

constexpr int kShards = 8;

// The part of worker `rank` of `nodes`: its own blocks, and the number of rows of the other shards.
data::Part part_of(const data::Part& whole, int rank, int nodes) {
  data::Part part = whole;
  const auto mine = exchange::owned(kShards, rank, nodes);
  for (data::Shard& shard : part.shards) {
    if (shard.index < mine.begin || shard.index >= mine.end) shard.blocks.clear();
  }
  return part;
}

std::string on_nodes(const Parameters& p, const data::Part& data, const data::Part& eval, int nodes,
                     job::Exchange exchange) {
  transport::ThreadGroup group(nodes, 60);
  std::vector<std::string> answers(static_cast<std::size_t>(nodes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nodes; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& answer = answers[static_cast<std::size_t>(rank)];
      try {
        const data::Part mine = part_of(data, rank, nodes), held_out = part_of(eval, rank, nodes);
        job::TrainOptions options = test::with_shards(kShards, 2, 5);
        options.transport = &group.member(rank);
        options.exchange = exchange;
        options.eval = &held_out;
        Lda learner(p);
        answer = job::train(learner, mine, options).model_sha256;
      } catch (const std::exception& e) {
        answer = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::set<std::string> all(answers.begin(), answers.end());
  EXPECT_EQ(all.size(), 1U) << nodes << " nodes disagree: " << *all.begin() << ", "
                            << *all.rbegin();
  return *all.begin();
}

void expect_one_answer(const Parameters& p, const test::Documents& documents) {
  const data::Part data = data::whole(test::dataset(documents), kShards, 5, 1);
  const data::Part eval = data::whole(
      test::dataset(test::some_documents(30, static_cast<std::size_t>(documents.words), 9)),
      kShards, 5, 1);
  std::set<std::string> hashes;
  for (const int workers : {1, 2, 3, 8}) {
    Lda learner(p);
    job::TrainOptions options = test::with_shards(kShards, workers, 5);
    options.eval = &eval;
    hashes.insert(job::train(learner, data, options).model_sha256);
  }
  for (const int nodes : {1, 2, 3, 5, 8}) {
    for (const job::Exchange exchange : {job::Exchange::kAllreduce, job::Exchange::kTree}) {
      hashes.insert(on_nodes(p, data, eval, nodes, exchange));
    }
  }
  EXPECT_EQ(hashes.size(), 1U) << *hashes.begin() << ", " << *hashes.rbegin();
  EXPECT_EQ(hashes.begin()->size(), 64U) << *hashes.begin();
}

Parameters parameters(Send send, Precision precision = Precision::kSingle) {
  Parameters p;
  p.n_topics = 5, p.send = send, p.precision = precision, p.passes = 2, p.batch_size = 70;
  return p;
}

TEST(LdaNodes, AveragedModels) {
  expect_one_answer(parameters(Send::kModel), test::some_documents(300, 80, 1));
}

TEST(LdaNodes, SummedStatistics) {
  expect_one_answer(parameters(Send::kGradient), test::some_documents(300, 80, 2));
}

TEST(LdaNodes, DoublePrecisionAndRandomTopics) {
  Parameters p = parameters(Send::kModel, Precision::kDouble);
  p.init = Init::kRandom;
  expect_one_answer(p, test::some_documents(300, 80, 3));
}

TEST(LdaNodes, WhereMostShardsAreEmpty) {
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Parameters p = parameters(send);
    p.batch_size = 1;
    expect_one_answer(p, test::some_documents(3, 30, 4));
  }
}

// Blocks of words are a task each: here there are several.
TEST(LdaNodes, MoreWordsThanABlockOfThem) {
  expect_one_answer(parameters(Send::kModel), test::some_documents(60, 1500, 5));
}

class LdaTargets : public testing::Test {
 protected:
  ~LdaTargets() override { base::limit_simd(best_); }
  const std::string best_ = base::simd_target();
};

TEST_F(LdaTargets, AllGiveTheSameBits) {
  const data::Dataset data = test::dataset(test::some_documents(120, 60, 6));
  const std::vector<std::string> targets = base::simd_targets();
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
      for (const std::int64_t topics : {1, 5, 16, 37}) {
        Parameters p = parameters(send, precision);
        p.n_topics = topics;
        std::set<std::string> hashes;
        for (const std::string& target : targets) {
          base::limit_simd(target);
          hashes.insert(test::train(p, data, test::with_shards(3)).result.model_sha256);
        }
        EXPECT_EQ(hashes.size(), 1U)
            << to_string(send) << ", " << to_string(precision) << ", " << topics << " topics";
      }
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::lda
