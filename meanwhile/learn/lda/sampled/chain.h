// The topics of one document's tokens, drawn anew against weights that stay as they are for the
// whole pass, one token after the other: Metropolis-Hastings with two proposals a token, each in
// constant time (Yuan and others, "LightLDA", 2015; Chen and others, "WarpLDA", 2016).
//
//   target        p(k) ~ (n_k + alpha_k) weight_wk scale_k        n: the document's other tokens
//   by document   k ~ N_k + alpha_k         accept: weight scale, new / old; N: n and the token
//   by word       k ~ weight_wk             accept: (n + alpha) scale, new / old
//
// The first ratio has no n: what the token itself adds to N proposes what it has, and the rest
// cancels. So a pass over a document leaves the distribution of its topics given the weights as it
// is, exactly, whatever other documents do meanwhile.
//
// Cost: some 40 ns a token and sweep: the row of a word lies far away, so what a token will read is
// asked for while others are drawn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/learn/lda/kernel.h"
#include "meanwhile/learn/lda/sampled/draws.h"
#include "meanwhile/learn/lda/sampled/word_topics.h"

namespace meanwhile::learn::lda::sampled {

// Sums over a document's topics once they are drawn; sums of documents add.
struct TopicSums {
  double log_p = 0;               // of the topics given alpha
  double norm = 0;                // sum over i < tokens of 1 / (sum of alpha + i)
  std::vector<double> of_topics;  // by topic: sum over i < N_k of 1 / (alpha_k + i)
};

// `Topic`: std::uint16_t or std::uint32_t. Thread safety: none.
template <class Topic>
class Chain {
 public:
  // Borrows all. `alias`: of alpha. REQUIRES: `words` is prepared.
  Chain(const WordTopics& words, std::span<const double> alpha, std::span<const Alias> alias);

  // Topics of tokens that have none: by word. `first`: number of the document's first token.
  void begin(const Document<float>& document, std::span<Topic> topics, const base::Random& random,
             std::uint64_t first);
  // `topics` in order of the document's words, each as often as it occurs.
  void draw(const Document<float>& document, std::span<Topic> topics, const base::Random& random,
            std::uint64_t first, std::int64_t sweeps);
  void add_sums(std::span<const Topic> topics, TopicSums& sums);

 private:
  static constexpr std::size_t kAtOnce = 128;  // tokens
  struct Cell {
    float alpha;
    std::uint32_t tokens;
    float weight() const { return static_cast<float>(tokens) + alpha; }
  };
  // Tokens side by side, before they are drawn one by one.
  struct Ahead {
    std::array<const WordRow*, kAtOnce> rows;
    std::array<base::PhiloxBlock, kAtOnce> bits;
    std::array<std::uint32_t, kAtOnce> by_word;
  };

  void sweep(const Document<float>& document, std::span<Topic> topics, const base::Random& random,
             std::uint64_t first);
  void propose_by_word(std::size_t count);
  std::uint32_t by_document(std::uint32_t bits, std::span<const Topic> topics) const;

  const WordTopics& words_;
  const std::span<const float> scales_;
  const std::span<const Alias> alias_;
  double alpha_sum_ = 0;
  std::vector<Cell> cells_;
  std::vector<double> alpha_;
  Share share_;  // of the present document
  Ahead ahead_;
};

extern template class Chain<std::uint16_t>;
extern template class Chain<std::uint32_t>;

}  // namespace meanwhile::learn::lda::sampled
