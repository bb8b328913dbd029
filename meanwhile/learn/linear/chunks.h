// Loops over long vectors on all threads, whose sums do not depend on how many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "meanwhile/base/parallel.h"

namespace meanwhile::learn::linear {

inline constexpr std::size_t kChunk = 1 << 12;  // elements; sums are over chunks, in order

inline std::size_t chunk_count(std::size_t size) { return (size + kChunk - 1) / kChunk; }

// body(chunk, begin, end) for all of `size` elements.
template <class Body>
void chunks(base::ThreadPool& pool, std::size_t size, Body&& body) {
  if (size <= kChunk) {
    if (size > 0) body(std::size_t{0}, std::size_t{0}, size);
    return;
  }
  pool.run(static_cast<std::int64_t>(chunk_count(size)), [&](std::int64_t task, int) {
    const std::size_t begin = static_cast<std::size_t>(task) * kChunk;
    body(static_cast<std::size_t>(task), begin, std::min(begin + kChunk, size));
  });
}

// `count` sums over chunks, each in the order of the chunks: partial[chunk * count + k] -> k.
inline std::vector<double> total(const std::vector<double>& partial, std::size_t count) {
  std::vector<double> sums(count);
  for (std::size_t i = 0; i < partial.size(); ++i) sums[i % count] += partial[i];
  return sums;
}

// The sum of term(i) over `size` elements; whatever term does besides, it does for each once.
template <class Term>
double sum(base::ThreadPool& pool, std::size_t size, Term&& term) {
  std::vector<double> partial(chunk_count(size));
  chunks(pool, size, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    double part = 0;
    for (std::size_t i = begin; i < end; ++i) part += term(i);
    partial[chunk] = part;
  });
  return total(partial, 1)[0];
}

}  // namespace meanwhile::learn::linear
