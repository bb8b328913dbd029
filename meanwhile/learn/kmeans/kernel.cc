// The kernels of k-means on dense rows, compiled once for each instruction set Highway knows.
//
// find_nearest costs 2 K D operations a row in the screen (float32, or 8-bit where VNNI is) plus
// 3 D float64 operations for each exact comparison: one a row at least, and about two on data
// without structure. Scores of a batch of kBatch rows stay in the second-level cache; no matrix of
// distances is ever written to memory.
#include "meanwhile/learn/kmeans/kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/kmeans/kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HWY_KMEANS_UNROLL
#ifdef __clang__
#define HWY_KMEANS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HWY_KMEANS_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

#include "meanwhile/learn/kmeans/decide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::kmeans::HWY_NAMESPACE {

constexpr std::int64_t kCentersInFlight = 1024;  // scores of a batch: 48 x 1024 x 4 bytes

// Scores of the batch's rows, which lie in scratch, for the centres [begin, end).
HWY_INLINE float* scores(float /*type*/, const Centers& c, Scratch& scratch, std::int64_t rows,
                         std::int64_t begin, std::int64_t end) {
  scratch.scores.resize(static_cast<std::size_t>(kBatch * (end - begin)));
  float32_scores(c, scratch.rows.data(), round_up(c.D, kWidth), rows, begin, end,
                 scratch.scores.data());
  return scratch.scores.data();
}
HWY_INLINE std::int32_t* scores(std::int32_t /*type*/, const Centers& c, Scratch& scratch,
                                std::int64_t rows, std::int64_t begin, std::int64_t end) {
  scratch.scores8.resize(static_cast<std::size_t>(kBatch * (end - begin)));
  int8_scores(c, scratch.rows8.data(), rows, begin, end, scratch.scores8.data());
  return scratch.scores8.data();
}

template <class T, class S>
HWY_INLINE std::int64_t search(const Centers& c, const T* const* rows, std::int64_t n,
                               const Seen& seen, Scratch& scratch, const Nearest& out) {
  Search<T, S> search(c, rows, seen, out, n);
  const std::int64_t filled = round_up(n, kTileRows), K16 = round_up(c.K, 16);
  for (std::int64_t begin = 0; begin < K16; begin += kCentersInFlight) {
    const std::int64_t end = std::min(begin + kCentersInFlight, K16), count = end - begin;
    S* all = scores(S{}, c, scratch, filled, begin, end);
    // The guess is compared already: its score must not stand in the way of the others'.
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t guess = out.labels[i] - begin;
      if (guess >= 0 && guess < count) all[i * count + guess] = hwy::LowestValue<S>();
    }
    for (std::int64_t i = 0; i < n; ++i) {
      if (std::isfinite(seen.error[i])) {
        search.look(i, all + i * count, begin, count);
      } else if (begin == 0) {
        search.look_at_all(i);
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i) out.others[i] = search.others(i);
  return search.compared();
}

template <class T, class S>
HWY_INLINE void values_below(const Centers& c, const T* const* rows, std::int64_t n,
                             const Seen& seen, const double* bounds, Scratch& scratch,
                             double* all) {
  const std::int64_t filled = round_up(n, kTileRows), K16 = round_up(c.K, 16);
  for (std::int64_t begin = 0; begin < K16; begin += kCentersInFlight) {
    const std::int64_t end = std::min(begin + kCentersInFlight, K16), count = end - begin;
    const S* found = scores(S{}, c, scratch, filled, begin, end);
    for (std::int64_t i = 0; i < n; ++i) {
      const double limit = score_limit(c.metric, seen, i, bounds[i]);
      for (std::int64_t k = begin; k < std::min(end, c.K); ++k) {
        double value = bounds[i];
        // A limit that is not a number compares false: then look.
        if (!(static_cast<double>(found[i * count + k - begin]) < limit)) {
          value = std::min(value, value_of(c.metric, rows[i], c.center(k), c.D));
        }
        all[i * c.K + k] = value;
      }
    }
  }
}

// Calls use(rows of a batch, their number, what the screen saw of them, the first one's number).
template <class T, class Use>
HWY_INLINE void for_batches(const Centers& c, Rows<T> rows, Scratch& scratch, Use use) {
  const bool int8 = c.screen == Screen::kInt8;
  const std::int64_t wide = round_up(c.D, kWidth), narrow = round_up(c.D, 4);
  // Quantised rows are stored a vector at a time: room for the last one to run over.
  if (int8) scratch.rows8.resize(static_cast<std::size_t>(kBatch * narrow + 64));
  if (!int8) scratch.rows.resize(static_cast<std::size_t>(kBatch * wide));
  Seen seen;
  const auto total = static_cast<std::int64_t>(rows.size());
  for (std::int64_t first = 0; first < total; first += kBatch) {
    const auto n = static_cast<int>(std::min(kBatch, total - first));
    const T* const* batch = rows.data() + first;
    for (int i = 0; i < n; ++i) {
      if (int8) see_int8(c, batch[i], scratch.rows8.data() + i * narrow, i, seen);
      if (!int8) see_float32(c, batch[i], scratch.rows.data() + i * wide, i, seen);
    }
    finish(c, n, seen);
    use(batch, n, seen, first);
  }
}

template <class T>
std::int64_t FindNearest(const Centers& c, Rows<T> rows, Scratch& scratch, const Nearest& out) {
  std::int64_t compared = 0;
  for_batches(
      c, rows, scratch,
      [&](const T* const* batch, std::int64_t n, const Seen& seen, std::int64_t first) HWY_ATTR {
        const Nearest here = {out.labels + first, out.values + first, out.others + first};
        compared += c.screen == Screen::kInt8
                        ? search<T, std::int32_t>(c, batch, n, seen, scratch, here)
                        : search<T, float>(c, batch, n, seen, scratch, here);
      });
  return compared;
}

template <class T>
void ValuesBelow(const Centers& c, Rows<T> rows, const double* bounds, Scratch& scratch,
                 double* all) {
  for_batches(
      c, rows, scratch,
      [&](const T* const* batch, std::int64_t n, const Seen& seen, std::int64_t first) HWY_ATTR {
        if (c.screen == Screen::kInt8) {
          values_below<T, std::int32_t>(c, batch, n, seen, bounds + first, scratch,
                                        all + first * c.K);
        } else {
          values_below<T, float>(c, batch, n, seen, bounds + first, scratch, all + first * c.K);
        }
      });
}

template <class T>
void ValuesOf(const Centers& c, Rows<T> rows, const std::int32_t* labels, double* values) {
  // Rows that bounds did not decide lie scattered: what is fetched ahead is not waited for.
  constexpr std::size_t kAhead = 4, kLine = 64 / sizeof(T);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) {
      const std::size_t end = std::min<std::size_t>(static_cast<std::size_t>(c.D), 4 * kLine);
      for (std::size_t j = 0; j < end; j += kLine) __builtin_prefetch(rows[i + kAhead] + j);
    }
    values[i] = value_of(c.metric, rows[i], c.center(labels[i]), c.D);
  }
}

template <class T>
void ValuesOfAll(const Centers& c, Rows<T> rows, double* all) {
  for (const T* row : rows) {
    for (std::int64_t k = 0; k < c.K; ++k) *all++ = value_of(c.metric, row, c.center(k), c.D);
  }
}

template <class T>
void InverseLengths(Rows<T> rows, std::int64_t D, double* inverse) {
  for (std::size_t i = 0; i < rows.size(); ++i) inverse[i] = inverse_length(rows[i], D);
}

template <class T>
void Measure(Rows<T> rows, std::span<const double> shift, double* reach) {
  const auto D = static_cast<std::int64_t>(shift.size());
  for (const T* row : rows) reach_of(row, shift.data(), D, reach);
}

template <class T>
void MoveRows(Rows<T> rows, std::span<const double> shift, std::span<const double> scale,
              const double* factors, const std::int32_t* from, const std::int32_t* to,
              double* cells, double* norms) {
  const auto D = static_cast<std::int64_t>(shift.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double factor = factors == nullptr ? 1.0 : factors[i];
    move_row(rows[i], factor, shift.data(), scale.data(), D,
             from == nullptr ? nullptr : cells + from[i] * D, cells + to[i] * D);
    if (norms != nullptr) norms[i] = norm2_about(rows[i], shift.data(), D);
  }
}

const Kernels<float>* KernelsFloat32() {
  static constexpr Kernels<float> kKernels = {
      FindNearest<float>,    ValuesOf<float>, ValuesOfAll<float>, ValuesBelow<float>,
      InverseLengths<float>, Measure<float>,  MoveRows<float>};
  return &kKernels;
}

const Kernels<double>* KernelsFloat64() {
  static constexpr Kernels<double> kKernels = {
      FindNearest<double>,    ValuesOf<double>, ValuesOfAll<double>, ValuesBelow<double>,
      InverseLengths<double>, Measure<double>,  MoveRows<double>};
  return &kKernels;
}

}  // namespace meanwhile::learn::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::kmeans {

HWY_EXPORT(KernelsFloat32);
HWY_EXPORT(KernelsFloat64);

template <>
const Kernels<float>& kernels<float>() {
  return *HWY_DYNAMIC_DISPATCH(KernelsFloat32)();
}
template <>
const Kernels<double>& kernels<double>() {
  return *HWY_DYNAMIC_DISPATCH(KernelsFloat64)();
}

}  // namespace meanwhile::learn::kmeans
#endif  // HWY_ONCE
