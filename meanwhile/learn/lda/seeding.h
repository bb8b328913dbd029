// The first topics. Training finds the topics that the first ones are near to: two that begin alike
// share what is one topic's, and another is never found. So they begin as documents that stand for
// many others: medoids of a sample, found one after the other as in the first half of PAM (Kaufman
// and Rousseeuw), by the cosine of their words.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/lda/kernel.h"

namespace meanwhile::learn::lda {

// A sample of documents as part of an update: for each a fixed number of (column + 1, count), zeros
// behind them.
class Sample {
 public:
  static constexpr std::int64_t kWords =
      256;  // of a document; of a longer one, so many spread evenly
  static std::int64_t documents_for(std::int64_t topics);

  static std::size_t size(std::int64_t documents) {
    return static_cast<std::size_t>(2 * kWords * documents);
  }
  static void put(const Document<double>& document, std::int64_t slot, std::span<double> sample);
  // Those that are there, sorted by what they hold. `distinct`: of equal ones, one.
  static std::vector<Document<double>> get(std::span<const double> sample, bool distinct);
};

// Takes each document of a shard with a chance of `share`, by its words and the seed: wherever a
// document lies, it is in the sample or not. Equal documents are taken once, unless all are. Writes
// to the slots from `begin` to `end`; what finds none is left out.
class SampleOfShard {
 public:
  // Enough for all but about one shard in 30,000 (four deviations).
  static std::int64_t slots(std::int64_t rows, double share);

  // `sample` is borrowed.
  SampleOfShard(double share, std::uint64_t seed, std::int64_t begin, std::int64_t end,
                std::span<double> sample);
  void offer(const Document<double>& document);

 private:
  const double share_;
  const base::Random random_;
  std::int64_t slot_;
  const std::int64_t end_;
  const std::span<double> sample_;
  std::set<std::uint64_t> taken_;  // hashes of documents
};

// For each document the topic it is to begin with, 0 to topics - 1. Each has one at least, as far
// as there are documents. Words that are in many of them count little: by the logarithm of how
// many. Costs about documents^2 (topics + words in common).
std::vector<std::int32_t> seed_topics(const std::vector<Document<double>>& documents,
                                      std::int64_t words, std::int64_t topics,
                                      base::ThreadPool& pool);

}  // namespace meanwhile::learn::lda
