#include "meanwhile/learn/kmeans/sparse.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/kmeans/sparse.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::kmeans::HWY_NAMESPACE {

// scores += factor * column. A plain loop: the compiler knows the instruction set here.
void AddColumn(const double* HWY_RESTRICT column, double factor, std::int64_t K,
               double* HWY_RESTRICT scores) {
  for (std::int64_t k = 0; k < K; ++k) scores[k] += factor * column[k];
}

}  // namespace meanwhile::learn::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::kmeans {

HWY_EXPORT(AddColumn);

SparseCenters prepare_sparse(Metric metric, std::span<const double> centers, std::int64_t K,
                             std::int64_t D) {
  SparseCenters c;
  c.metric = metric;
  c.K = K;
  c.D = D;
  c.columns.resize(static_cast<std::size_t>(K * D));
  c.half_norm.assign(static_cast<std::size_t>(K), 0.0);
  for (std::int64_t k = 0; k < K; ++k) {
    double norm2 = 0;
    for (std::int64_t j = 0; j < D; ++j) {
      const double value = centers[static_cast<std::size_t>(k * D + j)];
      c.columns[static_cast<std::size_t>(j * K + k)] = value;
      norm2 += value * value;
    }
    if (metric == Metric::kEuclidean) c.half_norm[static_cast<std::size_t>(k)] = norm2 / 2;
  }
  return c;
}

template <class T>
void sparse_scores(const SparseCenters& c, const typename data::Sparse<T>::Row& row,
                   double* scores) {
  for (std::int64_t k = 0; k < c.K; ++k) scores[k] = -c.half_norm[static_cast<std::size_t>(k)];
  const auto add_column = HWY_DYNAMIC_DISPATCH(AddColumn);
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    add_column(c.columns.data() + row.columns[i] * c.K, static_cast<double>(row.values[i]), c.K,
               scores);
  }
}

template void sparse_scores<float>(const SparseCenters&, const data::Sparse<float>::Row&, double*);
template void sparse_scores<double>(const SparseCenters&, const data::Sparse<double>::Row&,
                                    double*);

}  // namespace meanwhile::learn::kmeans
#endif  // HWY_ONCE
