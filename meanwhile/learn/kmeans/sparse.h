// Sparse rows against dense centres, all in float64.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/data/matrix.h"
#include "meanwhile/learn/kmeans/model.h"

namespace meanwhile::learn::kmeans {

// Centres column after column, so that a nonzero of a row meets all centres in consecutive memory.
struct SparseCenters {
  Metric metric = Metric::kEuclidean;
  std::int64_t K = 0, D = 0;
  std::vector<double> columns;    // D x K
  std::vector<double> half_norm;  // |c|^2 / 2, or 0 under cosine
};

SparseCenters prepare_sparse(Metric metric, std::span<const double> centers, std::int64_t K,
                             std::int64_t D);

// scores[k] = x.c_k - half_norm[k]: the nearest centre has the largest. The sum runs over the
// nonzeros in order for each k, whatever the instruction set.
template <class T>
void sparse_scores(const SparseCenters& centers, const typename data::Sparse<T>::Row& row,
                   double* scores);

}  // namespace meanwhile::learn::kmeans
