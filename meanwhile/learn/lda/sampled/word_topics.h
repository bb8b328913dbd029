// How often each word has each topic, and what a sampler reads of that: the only place that knows
// how these counts lie in memory.
//
// A word's counts are a list of (topic, count), ascending. Made from it for sampling: the topics of
// all its tokens one after the other, so that a token at random has topic k with a probability in
// proportion to the count. All of it costs what the counts of the word do, never words x topics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/lda/sampled/draws.h"

namespace meanwhile::learn::lda::sampled {

// Topics are held as uint16 up to so many.
inline constexpr std::int64_t kMostShortTopics = 1 << 16;
inline constexpr std::uint32_t kNoTopic = 0xffffffff;

// Proposals of topics for a word. Borrowed from WordTopics.
struct WordRow {
  const void* listed = nullptr;    // its tokens' topics: uint16 or uint32
  const float* drawn = nullptr;    // weights that were drawn, by topic
  const Alias* aliases = nullptr;  // of these weights; topics are proposed by them then
  std::uint64_t list_scale = 0, rest_scale = 0;
  std::uint32_t list_share = 0;  // of 2^32: random bits below it choose a token of the list
};

// The counts of one word while they change.
class RowBuilder {
 public:
  explicit RowBuilder(std::size_t topics) : counts_(topics, 0), marks_((topics + 63) / 64, 0) {}

  void add(std::uint32_t topic, std::int64_t by) {
    counts_[topic] += by;
    marks_[topic >> 6] |= std::uint64_t{1} << (topic & 63);
  }

 private:
  friend class WordTopics;
  std::vector<std::int64_t> counts_;
  std::vector<std::uint64_t> marks_;
};

// Thread safety: const members may run side by side.
class WordTopics {
 public:
  WordTopics() = default;
  // All 0.
  WordTopics(std::size_t words, std::size_t topics);
  // From lists as for_counts() gives them: those of word w are [start[w], start[w + 1]).
  // REQUIRES: topics ascend within a word, counts are above 0.
  WordTopics(std::size_t topics, std::span<const std::int64_t> start,
             std::span<const std::int32_t> of_topic, std::span<const std::int32_t> counts);

  std::size_t words() const { return words_; }
  std::size_t topics() const { return topics_; }
  // Tokens of each topic.
  std::span<const std::int64_t> totals() const { return totals_; }
  std::size_t held() const;  // (topic, count) pairs

  // Calls use(topic, count) for the topics of a word, ascending.
  template <class Use>
  void for_counts(std::size_t word, Use&& use) const {
    const Block& block = blocks_[word / kBlockWords];
    const std::size_t at = word % kBlockWords;
    for (std::size_t i = block.start[at]; i < block.start[at + 1]; ++i) {
      use(block.topics[i], block.counts[i]);
    }
  }

  // changes(word, builder) adds what the counts of a word change by; words side by side.
  // THROWS Error(kFailed) when a count falls below 0 or exceeds 31 bits.
  void apply(base::ThreadPool& pool,
             const std::function<void(std::size_t word, RowBuilder& builder)>& changes);

  // Makes rows for sampling: topics are proposed in proportion to count + eta.
  void prepare(base::ThreadPool& pool, double eta);
  // The same, but the words' probabilities in each topic are drawn from their posterior,
  // Dirichlet(counts + eta), and proposals follow them: what depends on counts any further would
  // depend on the topics that are to be drawn. Costs words x topics draws, and 12 bytes each.
  void prepare_drawn(base::ThreadPool& pool, double eta, const base::Random& random);

  // REQUIRES: prepared, and not changed since.
  const WordRow& row(std::size_t word) const { return rows_[word]; }
  double eta() const { return eta_; }

  // Calls use(first word, one past the last, number of the block) for all words, side by side.
  static constexpr std::size_t kBlockWords = 256;
  std::size_t blocks() const { return blocks_.size(); }

 private:
  struct Block {
    std::vector<std::size_t> start;  // by word of the block, and the end
    std::vector<std::uint32_t> topics, counts;
    std::vector<float> drawn;
    std::vector<std::uint16_t> short_list;
    std::vector<std::uint32_t> long_list;
    std::vector<Alias> aliases;
  };
  void add_totals();
  std::size_t words_of(std::size_t block) const;
  void make_lists(std::size_t block, double eta);

  std::size_t words_ = 0, topics_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::int64_t> totals_;
  std::vector<WordRow> rows_;
  double eta_ = 0;
};

}  // namespace meanwhile::learn::lda::sampled
