// The topics of the tokens of some documents, drawn anew word by word: Metropolis-Hastings with two
// proposals a token and step, each in constant time (Yuan and others, "LightLDA", 2015; Chen and
// others, "WarpLDA", 2016).
//
//   target        p(k) ~ (n_dk + alpha_k) (n_wk + eta) / (n_k + words x eta)     without the token
//   by document   k ~ N_dk + alpha_k       N: with the token's present topic
//   by word       k ~ c_wk + eta           c: the counts of the rounds before
//
// Counts of words and of topics are those of the rounds before and what the tile itself has changed
// since; counts of documents are exact, as a document lies in one tile. Where weights of words were
// drawn (WordTopics::prepare_drawn) they stay as they are, and the target is exact.
//
// Why word by word: a word's weights fit into the first cache, and so do its topics. What a token
// needs of its document is asked for ahead: some 64 tokens are prepared side by side.
//
// Memory: 12 bytes for each pair of document and word, and a table of counts for each document of
// more than kMostScanned tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/lda/kernel.h"
#include "meanwhile/learn/lda/sampled/bits.h"
#include "meanwhile/learn/lda/sampled/draws.h"
#include "meanwhile/learn/lda/sampled/tile_steps.h"
#include "meanwhile/learn/lda/sampled/word_topics.h"

namespace meanwhile::learn::lda::sampled {

// `Topic`: std::uint16_t or std::uint32_t, as in the shard's memory. Thread safety: none.
template <class Topic, class Count>
class Tile {
 public:
  // Borrows all. `alias`: of alpha. `drawn`: weights of words were drawn. REQUIRES: `words` is
  // prepared.
  Tile(const WordTopics& words, std::span<const double> alpha, std::span<const Alias> alias,
       bool drawn);

  // Forgets all documents.
  void clear();
  void add(const Document<float>& document);
  std::size_t tokens() const { return tokens_; }
  // Calls use(first token, tokens) for each document.
  template <class Use>
  void for_documents(Use&& use) const {
    for (const Entry& document : documents_) use(document.at, document.tokens);
  }

  // `topics`: of all tokens of the documents added, document by document, in order of words.
  // `first`: number of the first token. Numbers are drawn by token and step.

  // Tokens that have no topic and are in no count yet: by word, then `sweeps` of `steps` each.
  // Appends all.
  void begin(std::span<Topic> topics, const Bits& random, std::uint64_t first, std::uint64_t sweeps,
             std::uint64_t steps, std::vector<TopicChange>& changes);
  // Tokens that are in the counts of words: one sweep of `steps` each. Appends what changed.
  void draw(std::span<Topic> topics, const Bits& random, std::uint64_t first, std::uint64_t steps,
            std::vector<TopicChange>& changes);
  // Appends the topics of all tokens, which had none.
  void add_all(std::span<const Topic> topics, std::vector<TopicChange>& changes);

 private:
  static constexpr std::size_t kAtOnce = 64;  // tokens
  struct Pair {                               // of document and word
    std::uint32_t document, at, tokens;       // at: its first token
  };
  using Entry = TileDocument<Count>;
  // Steps side by side, before they are taken one by one. Proposals that are no token's topic are
  // here.
  struct Ahead {
    std::array<TileStep<Topic, Count>, kAtOnce> steps;
    std::array<base::PhiloxBlock, kAtOnce> bits;
    std::array<Topic, kAtOnce> by_document, by_word;
  };

  bool is_scanned(const Entry& document) const;
  void sort(std::uint64_t steps);
  void count(std::span<const Topic> topics);
  void sweep(std::span<Topic> topics, const Bits& random, std::uint64_t number, std::uint64_t steps,
             bool counted, std::vector<TopicChange>& changes);
  void prepare(std::size_t next, std::span<const Topic> topics, const Bits& random,
               std::uint64_t number);
  void set_totals();
  template <class Use>
  void for_tokens(Use&& use) const;  // use(word, document, at) by word
  void propose_by_word(std::size_t count);
  void propose_by_document(std::size_t i, std::span<const Topic> topics);
  void enter(std::size_t word);
  void leave(std::size_t word, std::span<const TopicChange> changes);

  const WordTopics& words_;
  const std::span<const double> alpha_;
  const std::span<const Alias> alias_;
  const bool drawn_;
  const double own_;  // what a token counts for in weights: nothing where they are drawn
  double alpha_sum_ = 0;
  std::size_t tokens_ = 0;
  bool sorted_ = false;
  std::vector<std::uint32_t> word_of_, start_;  // by pair as added; of pairs, by word
  std::vector<Pair> added_, pairs_;             // as added, by word
  std::vector<Entry> documents_;
  std::vector<Count> counts_;
  std::vector<Weight> weights_;   // of the present word, by topic
  std::vector<double> totals_;    // tokens + words x eta, by topic
  std::vector<Topic> uncounted_;  // topics of its tokens that were in no count
  Ahead ahead_;
};

extern template class Tile<std::uint16_t, ShortCount>;
extern template class Tile<std::uint16_t, LongCount>;
extern template class Tile<std::uint32_t, LongCount>;

}  // namespace meanwhile::learn::lda::sampled
