// The sampler as a learner of rounds: counts that are conserved, one answer, states, odd data.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/sampled/sampled.h"
#include "meanwhile/transport/threads.h"
#include "test/expect_error.h"
#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda::sampled {
namespace {

constexpr int kShards = 5;

Parameters parameters(std::int64_t topics = 6, std::int64_t passes = 12) {
  Parameters p;
  p.sampler = Sampler::kMh, p.n_topics = topics, p.passes = passes, p.tol = 0;
  return p;
}

// Rounds done by hand. `alone`: as a worker that has all shards.
class Rounds {
 public:
  Rounds(Sampled& learner, const data::Part& part, bool alone) : part_(part), alone_(alone) {
    change(learner);
    for (int s = 0; s < kShards; ++s) memory_.emplace_back(learner.memory_shape(s));
  }

  void change(Sampled& learner) {
    learner_ = &learner;
    learner.attach({&part_, nullptr, 3, false, &pool_, false, alone_});
  }
  Outcome next() {
    exchange::OrderedSum sum(kShards, learner_->update_shape());
    for (int s = 0; s < kShards; ++s) {
      exchange::Update update = sum.take();
      learner_->work(s, memory_[static_cast<std::size_t>(s)], update);
      sum.give(s, std::move(update));
    }
    return learner_->absorb(sum.total());
  }
  // By word and topic, from the topics of tokens.
  std::map<std::pair<std::int32_t, std::uint32_t>, std::uint32_t> counted(std::int64_t topics) {
    std::map<std::pair<std::int32_t, std::uint32_t>, std::uint32_t> counts;
    Document<double> document;
    for (int s = 0; s < kShards; ++s) {
      learn::ShardMemory& memory = memory_[static_cast<std::size_t>(s)];
      std::size_t at = 0;
      for (const auto& block : part_.shards[static_cast<std::size_t>(s)].blocks) {
        for (std::int64_t row = block.begin; row < block.end; ++row) {
          read_document(part_.data.x, row, document);
          for (std::size_t i = 0; i < document.words.size(); ++i) {
            for (double n = 0; n < document.counts[i]; ++n, ++at) {
              const std::uint32_t topic = topics <= kMostShortTopics
                                              ? memory.tensor<std::uint16_t>(kTopicsOfTokens)[at]
                                              : memory.tensor<std::uint32_t>(kTopicsOfTokens)[at];
              ++counts[{document.words[i], topic}];
            }
          }
        }
      }
    }
    return counts;
  }

 private:
  Sampled* learner_ = nullptr;
  const data::Part& part_;
  const bool alone_;
  base::ThreadPool pool_{2};
  std::vector<learn::ShardMemory> memory_;
};

std::map<std::pair<std::int32_t, std::uint32_t>, std::uint32_t> counts_of(const Sampled& learner) {
  std::map<std::pair<std::int32_t, std::uint32_t>, std::uint32_t> counts;
  for (std::size_t w = 0; w < learner.counts().words(); ++w) {
    learner.counts().for_counts(w, [&](std::uint32_t topic, std::uint32_t count) {
      counts[{static_cast<std::int32_t>(w), topic}] = count;
    });
  }
  return counts;
}

void expect_counts_are_conserved(const Parameters& p, bool alone, int rounds) {
  const data::Part part =
      data::whole(test::dataset(test::some_documents(90, 300, 4)), kShards, 3, 1);
  Sampled learner(p);
  Rounds run(learner, part, alone);
  // Words are counted, and tokens get their first topics.
  const auto parts = std::ssize(first_parts(90));
  EXPECT_GT(parts, 5);
  for (std::int64_t round = 0; round < 1 + parts; ++round) run.next();
  for (int round = 0; round < rounds; ++round) {
    run.next();
    EXPECT_EQ(counts_of(learner), run.counted(p.n_topics)) << "round " << round;
    std::int64_t tokens = 0;
    for (const std::int64_t total : learner.counts().totals()) tokens += total;
    std::int64_t expected = 0;
    for (const auto& [key, count] : counts_of(learner)) expected += count;
    EXPECT_EQ(tokens, expected);
  }
}

TEST(LdaSampled, ConservesCountsInListsAndPages) {
  for (const bool alone : {true, false}) {
    expect_counts_are_conserved(parameters(), alone, 5);
    Parameters p = parameters(100);
    p.batch_size = 30, p.sweeps = 3;
    expect_counts_are_conserved(p, alone, 5);
  }
}

TEST(LdaSampled, HasMoreTopicsThanSixteenBitsAndThanTokens) {
  for (const bool alone : {true, false}) {
    expect_counts_are_conserved(parameters(70'000), alone, 2);
  }
}

TEST(LdaSampled, ListsAndPagesGiveTheSameBits) {
  const data::Part part =
      data::whole(test::dataset(test::some_documents(90, 300, 4)), kShards, 3, 1);
  for (const bool exact : {false, true}) {
    Parameters p = parameters();
    p.exact = exact;
    Sampled one(p), other(p);
    Rounds lists(one, part, true), pages(other, part, false);
    for (int round = 0; round < 24; ++round) {
      EXPECT_EQ(lists.next().objective, pages.next().objective) << round;
      EXPECT_EQ(counts_of(one), counts_of(other)) << round;
    }
    EXPECT_EQ(one.eta(), other.eta());
  }
}

TEST(LdaSampled, GoesOnFromAStateWithTheSameBits) {
  const data::Part part =
      data::whole(test::dataset(test::some_documents(90, 40, 4)), kShards, 3, 1);
  Parameters p = parameters(6, 14);
  p.batch_size = 40;
  for (const int stop : {1, 2, 5, 20, 41}) {
    Sampled whole(p), before(p), after(p);
    Rounds expected(whole, part, true), run(before, part, false);
    Outcome last, resumed;
    while (!last.done()) last = expected.next();
    for (int round = 0; round < stop; ++round) run.next();
    const test::SavedLda saved(before, stop);
    after.restore(saved.file());
    run.change(after);
    while (!resumed.done()) resumed = run.next();
    EXPECT_EQ(counts_of(after), counts_of(whole)) << stop;
    EXPECT_EQ(after.eta(), whole.eta());
    EXPECT_EQ(resumed.record, last.record);
  }
}

TEST(LdaSampled, PriorsMoveAndTheLikelihoodRises) {
  const auto topics = test::draw_topics(4, 60, 8);
  const data::Dataset data = test::dataset(test::draw_documents(topics, 300, 60, 8));
  Parameters p = parameters(4, 60);
  Sampled learner(p);
  std::vector<double> log_p;
  const job::TrainResult result =
      job::train(learner, data, test::with_shards(kShards), nullptr, nullptr,
                 [&](const auto& round) { log_p.push_back(round.outcome.objective); });
  EXPECT_LT(result.objective, 4.1);  // log 60: topics that know nothing
  EXPECT_NE(learner.eta(), kDefaultEta);
  EXPECT_NE(learner.alpha()[0], kDefaultAlpha);
  const Model model = load_model(test::SavedLda(learner).file());
  EXPECT_EQ(model.topics, 4);
  const auto found = test::matched(topics, test::by_topic(model.lambda, 4));
  for (const double cosine : found) EXPECT_GT(cosine, 0.95);
  // Measured as any topic model.
  const Json measures = evaluate(model, data, 2);
  EXPECT_LT(measures.at("perplexity").get<double>(), 50) << measures;
}

data::Part part_of(const data::Part& whole, int rank, int nodes) {
  data::Part part = whole;
  const auto mine = exchange::owned(kShards, rank, nodes);
  for (data::Shard& shard : part.shards) {
    if (shard.index < mine.begin || shard.index >= mine.end) shard.blocks.clear();
  }
  return part;
}

std::string on_nodes(const Parameters& p, const data::Part& data, int nodes,
                     job::Exchange exchange) {
  transport::ThreadGroup group(nodes, 60);
  std::vector<std::string> answers(static_cast<std::size_t>(nodes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nodes; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& answer = answers[static_cast<std::size_t>(rank)];
      try {
        const data::Part mine = part_of(data, rank, nodes);
        job::TrainOptions options = test::with_shards(kShards, 2, 5);
        options.transport = &group.member(rank);
        options.exchange = exchange;
        Sampled learner(p);
        answer = job::train(learner, mine, options).model_sha256;
      } catch (const std::exception& e) {
        answer = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::set<std::string> all(answers.begin(), answers.end());
  EXPECT_EQ(all.size(), 1U) << *all.begin() << ", " << *all.rbegin();
  return *all.begin();
}

TEST(LdaSampled, HasOneAnswerOnThreadsAndNodes) {
  const data::Part data =
      data::whole(test::dataset(test::some_documents(120, 400, 5)), kShards, 5, 1);
  Parameters p = parameters(40, 13);
  std::set<std::string> hashes;
  for (const int threads : {1, 2, 3, 5}) {
    Sampled learner(p);
    hashes.insert(job::train(learner, data, test::with_shards(kShards, threads, 5)).model_sha256);
  }
  for (const int nodes : {1, 2, 3, 5, 7}) {
    for (const job::Exchange exchange : {job::Exchange::kAllreduce, job::Exchange::kTree}) {
      hashes.insert(on_nodes(p, data, nodes, exchange));
    }
  }
  EXPECT_EQ(hashes.size(), 1U) << *hashes.begin() << ", " << *hashes.rbegin();
  EXPECT_EQ(hashes.begin()->size(), 64U) << *hashes.begin();
}

TEST(LdaSampled, RefusesCountsThatAreNotWhole) {
  test::Documents documents = test::some_documents(20, 30, 1);
  documents.rows[4][7] = 2.5;
  const data::Dataset data = test::dataset(documents);
  const std::string message = input_error_of([&] {
    Sampled learner(parameters());
    job::train(learner, data, test::with_shards(kShards));
  });
  EXPECT_NE(message.find("row 4, column 7: found 2.5"), std::string::npos) << message;
}

TEST(LdaSampled, RefusesDamagedCounts) {
  const data::Dataset data = test::dataset(test::some_documents(20, 30, 1));
  Sampled learner(parameters());
  job::train(learner, data, test::with_shards(kShards));
  const State state = learner.state();
  const auto start = state.learned.at("count_start").as<std::int64_t>();
  const auto refused = [&](std::size_t word, std::int64_t value) {
    std::vector<std::int64_t> damaged(start.begin(), start.end());
    damaged[word] = value;
    auto tensors = state.learned;
    tensors["count_start"] =
        data::tensor_of<std::int64_t>(damaged, {static_cast<std::int64_t>(damaged.size())});
    const auto bytes = data::safetensors_bytes(tensors, {{"learner", "lda"},
                                                         {"parameters", state.parameters.dump()},
                                                         {"progress", state.progress.dump()},
                                                         {"about", state.about.dump()}});
    const data::SafetensorsFile file(bytes, "state");
    input_error_of([&] { Sampled(parameters()).restore(file); });
    input_error_of([&] { load_model(file); });
  };
  refused(0, 1);
  refused(1, 1 << 20);
  refused(2, -1);
  refused(start.size() - 1, start.back() - 1);
}

}  // namespace
}  // namespace meanwhile::learn::lda::sampled
