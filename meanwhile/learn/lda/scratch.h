// What shards read and what they work with, while training.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/learn/lda/lda.h"

namespace meanwhile::learn::lda {

template <class T>
struct Lda::Scratch {
  Document<T> document;
  Inference<T> inference;
  base::Buffer<T> gain;  // words x width
  std::vector<double> gain_sums;
  std::vector<T> norm, digammas;
};

template <class T>
struct Lda::ScratchPool {
  // The same for all shards of a round. `topics`: lambda, or where statistics are sent, beta and
  // its scale (kernel.h).
  base::Buffer<T> topics;
  std::vector<T> scale, norm, alpha;
  std::vector<double> sums;  // of lambda, by topic

  std::unique_ptr<Scratch<T>> take() {
    const std::lock_guard lock(mutex);
    if (free.empty()) return std::make_unique<Scratch<T>>();
    auto bench = std::move(free.back());
    free.pop_back();
    return bench;
  }
  void give(std::unique_ptr<Scratch<T>> bench) {
    const std::lock_guard lock(mutex);
    free.push_back(std::move(bench));
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Scratch<T>>> free;
};

// Behind the words x topics numbers of a kTrain round; then the sums of held-out documents.
struct Lda::Tail {
  static constexpr std::size_t kSize = 8;
  double kept = 0, level = 0, shards = 0;  // of averaged models
  double documents = 0, tokens = 0;        // of the round, without empty ones
  double bound = 0, bound_tokens = 0;      // of some of its documents
  double iterations = 0;

  void put(std::span<double> update) const {
    const double values[kSize] = {kept,   level, shards,       documents,
                                  tokens, bound, bound_tokens, iterations};
    std::copy(std::begin(values), std::end(values), update.begin());
  }
  static Tail get(std::span<const double> u) {
    return {u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7]};
  }
};

}  // namespace meanwhile::learn::lda
