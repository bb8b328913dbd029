// Inputs and working memory of shards in training. Included by train_stage.cc and pass.h.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/mutex.h"
#include "meanwhile/learn/lda/kernel.h"

namespace meanwhile::learn::lda {

template <class T>
struct Scratch {
  Document<T> document;
  Inference<T> inference;
  base::Buffer<T> gain;  // words x width; all zeros between rounds
  std::vector<double> gain_sums;
  std::vector<T> norm, digammas;
};

template <class T>
struct ScratchPool {
  // The same for all shards of a round. `topics`: lambda, or where statistics are sent, beta and
  // its scale (kernel.h).
  base::Buffer<T> topics;
  std::vector<T> scale, norm, alpha;
  std::vector<double> sums;  // of lambda, by topic

  std::unique_ptr<Scratch<T>> take() {
    const base::MutexLock lock(mutex);
    if (free.empty()) return std::make_unique<Scratch<T>>();
    auto scratch = std::move(free.back());
    free.pop_back();
    return scratch;
  }
  void give(std::unique_ptr<Scratch<T>> scratch) {
    const base::MutexLock lock(mutex);
    free.push_back(std::move(scratch));
  }

  base::Mutex mutex;
  std::vector<std::unique_ptr<Scratch<T>>> free MW_GUARDED_BY(mutex);
};

// Behind the numbers by topic in a round of training; the sums of held-out documents come after.
struct Tail {
  static constexpr std::size_t kSize = 8;
  double kept = 0, level = 0, shards = 0;  // of averaged models: times their weight; the weights
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
