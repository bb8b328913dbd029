// Latent Dirichlet allocation by sampling the topic of every token: `--sampler mh`.
//
//   count    words and documents are counted
//   first    documents come in ever larger parts, and their tokens get topics from the counts of
//            those before: from random topics alone, counts would take dozens of passes to differ
//   train    a round draws the topics of its documents against the counts of the rounds before
//   score    coherence, held-out measures
//
// Topics of tokens are the memory of a shard. The update is what changes in the counts of words and
// topics: integers, whose sum needs no order. All documents of a round are drawn against the same
// counts, so neither their order nor who has them matters.
//
// A worker that has all shards keeps lists of changed tokens instead of an update (changes_).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "meanwhile/learn/lda/coherence.h"
#include "meanwhile/learn/lda/measures.h"
#include "meanwhile/learn/lda/parameters.h"
#include "meanwhile/learn/lda/sampled/page_changes.h"
#include "meanwhile/learn/lda/sampled/priors.h"
#include "meanwhile/learn/lda/sampled/tile_steps.h"
#include "meanwhile/learn/lda/sampled/word_topics.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::lda::sampled {

// The memory of a shard: the topic of each of its tokens, in order of row and word; uint16 up to
// kMostShortTopics topics, then uint32.
inline constexpr char kTopicsOfTokens[] = "topics";

// Tokens of a tile: fewer, and one document more.
inline constexpr std::size_t kTileTokens = 1 << 20;

enum class StageName { kCount, kFirst, kTrain, kScore };
inline constexpr Named<StageName> kStageNames[] = {{StageName::kCount, "count"},
                                                   {StageName::kFirst, "first"},
                                                   {StageName::kTrain, "train"},
                                                   {StageName::kScore, "score"}};
constexpr std::span<const Named<StageName>> names(StageName) { return kStageNames; }

// Priors that are not given: of documents and of topics.
inline constexpr double kDefaultAlpha = 0.1, kDefaultEta = 0.01;
// The shard in whose name weights are drawn.
inline constexpr std::uint32_t kDrawsOfWeights = 0xffffffff;

// All that changes from round to round and is no array: in the state file as JSON.
struct Progress {
  StageName stage = StageName::kCount;
  std::int64_t pass = 0, round = 0;        // round: of the pass
  double documents = 0, tokens = 0;        // of all data; documents without empty ones
  double pass_log_p = 0, pass_tokens = 0;  // of the documents of the present pass
  double objective = 0;                    // of the last round
  double eta = 0;
  std::vector<double> passes;  // log p of the last passes, a token
  Ended ended;
};

class Sampled final : public RoundLearner {
 public:
  // THROWS Error(kUsage).
  explicit Sampled(Parameters parameters);

  std::string name() const override { return "lda"; }
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  MemoryShape memory_shape(int shard) const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  Outcome absorb(const exchange::Update& total) override;
  std::int64_t rounds_left() const override;
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;
  std::vector<Stretch> course(const Shape& shape) const override;
  double memory_bytes(const Shape& shape, const Division& division) const override;

  const WordTopics& counts() const { return counts_; }
  std::span<const double> alpha() const { return alpha_; }
  double eta() const { return progress_.eta; }

 private:
  // Tokens whose topic changed, tile by tile, by word.
  struct Change {
    std::uint32_t from, to;
  };
  struct Changes {
    std::vector<std::uint32_t> start;  // of each tile: by word, and the end
    std::vector<Change> changes;
  };
  class Recorder;
  // Memory that a shard before has left, or none: pages that the system clears anew in each round
  // take as long as a tenth of the drawing.
  std::vector<TopicChange> spare_changes();
  struct Block {
    data::RowRange rows;
    std::uint64_t first;  // token of the shard
  };

  void work_count(int shard, exchange::Update& update) const;
  template <class Topic, class Count>
  void work_topics(int shard, std::span<Topic> topics, exchange::Update& update);
  void work_score(int shard, exchange::Update& update) const;
  void absorb_count(const exchange::Update& total);
  void absorb_changes(const exchange::Update& total);
  void absorb_topics(const exchange::Update& total, Outcome& outcome);
  void absorb_score(const exchange::Update& total, Outcome& outcome);
  void end_pass();
  void end_when_done();
  void prepare();
  data::RowRange rows_of_round(int shard) const;
  void begin();

  const data::Shard& shard(int s) const { return job_.part->shards[static_cast<std::size_t>(s)]; }
  std::size_t V() const { return static_cast<std::size_t>(words_); }
  std::size_t K() const { return static_cast<std::size_t>(parameters_.n_topics); }
  std::int64_t rounds_in_pass(std::int64_t documents) const;

  const Parameters parameters_;

  // While attached.
  Attachment job_;
  std::unique_ptr<base::ThreadPool> own_pool_;  // where none was given
  std::vector<std::vector<Block>> blocks_;      // of shards held here
  std::vector<std::uint64_t> tokens_;           // of each shard held here
  std::int64_t longest_ = 0;                    // document held here, in tokens
  std::int64_t rounds_a_pass_ = 1;
  std::vector<std::int64_t> parts_;  // documents, of all shards, that have topics after each part
  std::vector<Changes> changes_;     // by shard, where all are here
  PageLayout pages_;                 // where others are not
  std::mutex spare_mutex_;           // guards spare_, which has a list a thread
  std::vector<std::vector<TopicChange>> spare_;
  std::vector<Alias> alias_;
  std::unique_ptr<CoCounter> counter_;
  std::unique_ptr<Measurer> measurer_;

  // Carried.
  Progress progress_;
  std::int64_t words_ = 0;  // 0: not known yet
  WordTopics counts_;
  std::vector<double> alpha_, word_counts_;
  std::vector<std::string> vocabulary_;
  TopWords top_;
  CoOccurrence together_;

  struct Lists {  // counts as tensors, that state() lends
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> topics, counts;
  };
  mutable Lists lists_;
};

// Documents that have topics after each part of the first stage: each part is a quarter of those
// before it.
std::vector<std::int64_t> first_parts(std::int64_t documents);

// The most frequent words of each topic; ties: the lower column.
TopWords top_words_of(const WordTopics& counts);

}  // namespace meanwhile::learn::lda::sampled
