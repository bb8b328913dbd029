// How well topics fit documents: sums over documents that add, and what is made of them. The same
// code while training and after (doc/lda.md has the formulas). In double precision always.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/threads.h"
#include "meanwhile/learn/lda/kernel.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::lda {

// As part of an update: kSize numbers.
struct Sums {
  static constexpr std::size_t kSize = 6;
  double documents = 0, tokens = 0;  // documents with words only
  double bound = 0;                  // of log p(documents), without the part of the topics
  double completed = 0, completed_tokens = 0;  // log-likelihood of second halves, and their words
  double unknown = 0;  // words of second halves that training never saw: left out of completed

  void put(std::span<double> update) const;
  static Sums get(std::span<const double> update);
  void add(const Sums& other);
};

inline constexpr double kMostDealt = 1 << 20;  // occurrences of a word in a document, one by one

// Topics ready to measure documents with. Thread safety: const members may run side by side.
class Measurer {
 public:
  // `lambda`: words x topics. `seen`: how often each word occurs in training, or none given: all
  // count as seen. THROWS nothing. Costs words x topics evaluations of digamma, on `threads`.
  Measurer(std::span<const double> lambda, std::int64_t words, std::span<const double> alpha,
           double eta, std::span<const double> seen, const InferOptions& infer,
           base::Threads threads);

  struct Scratch {
    Inference<double> inference;
    Document<double> half, other;
    std::vector<double> expected, logs;
  };
  // The bound, and the completion of the document: its words are dealt to two halves (the t-th
  // occurrence of all, counted in order of column, to the first when a hash of (number, t) is
  // even); the mixture is inferred from the first and the second is scored by mean theta . mean
  // phi. `number` is the document's, so that the halves are the same on any worker. Counts that
  // are no whole numbers, or larger than kMostDealt, are halved.
  void add(const Document<double>& document, std::uint64_t number, bool bound, bool completion,
           Scratch& scratch, Sums& sums) const;

  // gamma of a document, width() numbers of which the first K count; valid until the next use.
  std::span<const double> infer(const Document<double>& document, Scratch& scratch) const;

  // E[log p(topics | eta)] - E[log q(topics)].
  double topics_part() const { return topics_part_; }
  std::size_t width() const { return norm_.size(); }
  std::int64_t words() const { return static_cast<std::int64_t>(scale_.size()); }
  std::int64_t topics() const { return topics_; }

 private:
  double bound_of(const Document<double>& document, Scratch& scratch) const;
  void complete(const Document<double>& document, std::uint64_t number, Scratch& scratch,
                Sums& sums) const;

  std::int64_t topics_;
  base::Buffer<double> beta_;  // words x width: exp(E[log]), by row up to exp(scale)
  base::Buffer<double> phi_;   // words x width: means
  std::vector<double> scale_, norm_, alpha_, seen_;
  double topics_part_ = 0;
  InferOptions infer_;
};

// perplexity: exp(-completed / completed_tokens);
// bound_per_word: (corpus_tokens / tokens * bound + topics_part) / corpus_tokens, Hoffman's, which
// scales documents up to the corpus that the topics were learned from; perplexity_bound: exp of its
// negative; perplexity_mllib: exp(-(bound + topics_part) / tokens), which does not. Fields that
// nothing is known of are left out.
Json measures_json(const Sums& sums, double topics_part, double corpus_tokens);

}  // namespace meanwhile::learn::lda
