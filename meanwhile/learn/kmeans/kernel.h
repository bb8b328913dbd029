// The inner loops of k-means on dense rows, compiled for several instruction sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/kmeans/centers.h"

namespace meanwhile::learn::kmeans {

inline constexpr std::int64_t kBatch =
    48;  // rows screened together: a multiple of every tile height

// Memory of one thread, reused from call to call.
struct Scratch {
  std::vector<float> rows;          // kBatch x D: x' of the batch, scaled
  std::vector<std::uint8_t> rows8;  // kBatch x 4 groups: x' of the batch in steps, plus 128
  std::vector<float> scores;        // kBatch x panels in flight
  std::vector<std::int32_t> scores8;
};

template <class T>
using Rows = std::span<const T* const>;  // a pointer to each row

// State of each row. A "value" is what the nearest centre minimises: the squared Euclidean
// distance, or -x.c under cosine.
struct Nearest {
  std::int32_t* labels;  // in: a guess, or -1. out: the nearest centre, the lowest of equals
  double* values;        // in: of the guess. out: of the nearest centre
  double* others;        // out: the value of every other centre is at least this
};

// The kernels for rows of T, of one instruction set.
template <class T>
struct Kernels {
  // Finds the nearest centre of each row; a right guess saves time. Returns how many centres were
  // compared exactly.
  std::int64_t (*find_nearest)(const Centers& centers, Rows<T> rows, Scratch& scratch,
                               const Nearest& nearest);

  // values[i] = value of centre labels[i] for rows[i]; the same bits as find_nearest gives.
  void (*values_of)(const Centers& centers, Rows<T> rows, const std::int32_t* labels,
                    double* values);

  // all[i * K + k] = value of centre k for rows[i].
  void (*values_of_all)(const Centers& centers, Rows<T> rows, double* all);

  // all[i * K + k] = the same where it is below bounds[i], otherwise bounds[i]: the screen spares
  // most exact values.
  void (*values_below)(const Centers& centers, Rows<T> rows, const double* bounds, Scratch& scratch,
                       double* all);

  // inverse[i] = 1 / |rows[i]|, or 0 for a row of zeros.
  void (*inverse_lengths)(Rows<T> rows, std::int64_t D, double* inverse);

  // reach[j] = the largest of itself and |rows[i][j] - shift[j]|, up to rounding in T.
  void (*measure)(Rows<T> rows, std::span<const double> shift, double* reach);

  // Exact sums. The integer nearest to factors[i] * (rows[i][j] - shift[j]) * scale[j] is added to
  // cell to[i] * D + j and, if `from` is not null, taken from cell from[i] * D + j; a cell holds
  // the bits of an int64. Null factors: all 1. norms[i] = |rows[i] - shift|^2, unless null.
  // REQUIRES: the integers are below 2^51.
  void (*move_rows)(Rows<T> rows, std::span<const double> shift, std::span<const double> scale,
                    const double* factors, const std::int32_t* from, const std::int32_t* to,
                    double* cells, double* norms);
};

// Those of base::simd_target(). T is float or double.
template <class T>
const Kernels<T>& kernels();

// Scores of quantised rows for the panels of centres [begin, end): AVX-512 VNNI only.
// scores8[i * (end - begin) + k - begin] = bias8[k] + sum over j of rows8[i][j] * panels8[k][j].
// REQUIRES: base::simd_has_vnni(); begin and end are multiples of 16, begin also of kPanel; rows is
// a multiple of 12.
void int8_scores(const Centers& centers, const std::uint8_t* rows8, std::int64_t rows,
                 std::int64_t begin, std::int64_t end, std::int32_t* scores8);

}  // namespace meanwhile::learn::kmeans
