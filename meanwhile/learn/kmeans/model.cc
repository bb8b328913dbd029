#include "meanwhile/learn/kmeans/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/release_rows.h"
#include "meanwhile/learn/kmeans/assign.h"

namespace meanwhile::learn::kmeans {

namespace {

void check_columns(const Model& model, const data::Dataset& data) {
  if (data::cols(data.x) != model.cols) {
    throw base::Error(base::ErrorKind::kInput, "the data has {}, the model {}",
                      base::counted(data::cols(data.x), "column"), model.cols);
  }
}

// Calls use(ids of a block of rows, thread) for all of [begin, end).
template <class Use>
void for_blocks(std::int64_t begin, std::int64_t end, base::Threads threads, const Use& use) {
  base::ThreadPool pool(threads);
  const std::int64_t blocks = (end - begin + data::kBlockRows - 1) / data::kBlockRows;
  pool.run(blocks, [&](std::int64_t block, int thread) {
    const std::int64_t first = begin + block * data::kBlockRows;
    std::vector<std::int64_t> ids(
        static_cast<std::size_t>(std::min(data::kBlockRows, end - first)));
    std::iota(ids.begin(), ids.end(), first);
    use(ids, thread);
  });
}

}  // namespace

Model widened(const Model& model, std::int64_t cols) {
  Model wide = model;
  wide.cols = cols;
  wide.centers.clear();
  for (auto center = model.centers.begin(); center != model.centers.end(); center += model.cols) {
    wide.centers.insert(wide.centers.end(), center, center + model.cols);
    wide.centers.resize(wide.centers.size() + static_cast<std::size_t>(cols - model.cols), 0.0);
  }
  return wide;
}

Assignment assign(const Model& model, const data::Dataset& data, base::Threads threads) {
  check_columns(model, data);
  const auto rows = static_cast<std::size_t>(data::rows(data.x));
  const data::RowRange all[] = {{0, data::rows(data.x)}};
  const Prepared centers = prepare(data.x, model.metric, model.centers, model.n_clusters,
                                   measure_spread(data.x, all, data.mapped), fastest_screen());
  Assignment result;
  result.labels.assign(rows, -1);
  std::vector<double> distances(rows);
  std::vector<AssignScratch> scratch(static_cast<std::size_t>(threads.count));
  for_blocks(
      0, static_cast<std::int64_t>(rows), threads,
      [&](const std::vector<std::int64_t>& ids, int thread) {
        assign(data.x, centers, nullptr,
               {ids, result.labels.data() + ids[0], distances.data() + ids[0], nullptr, nullptr},
               scratch[static_cast<std::size_t>(thread)]);
        if (data.mapped) data::release_rows(data.x, {ids.front(), ids.back() + 1});
      });
  // In order of row, so that the number of threads does not show.
  result.counts.assign(static_cast<std::size_t>(model.n_clusters), 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    const double weight = data.weights.empty() ? 1.0 : data.weights[i];
    result.inertia += weight * distances[i];
    result.counts[static_cast<std::size_t>(result.labels[i])] += weight;
  }
  return result;
}

void transform(const Model& model, const data::Dataset& data, std::int64_t begin, std::int64_t end,
               base::Threads threads, std::span<double> distances) {
  check_columns(model, data);
  const data::RowRange all[] = {{0, data::rows(data.x)}};
  const Prepared centers = prepare(data.x, model.metric, model.centers, model.n_clusters,
                                   measure_spread(data.x, all, data.mapped), Screen::kFloat32);
  std::vector<AssignScratch> scratch(static_cast<std::size_t>(threads.count));
  for_blocks(begin, end, threads, [&](const std::vector<std::int64_t>& ids, int thread) {
    double* const first = distances.data() + (ids[0] - begin) * model.n_clusters;
    all_distances(data.x, centers, ids, scratch[static_cast<std::size_t>(thread)], first);
    if (data.mapped) data::release_rows(data.x, {ids.front(), ids.back() + 1});
    if (model.metric == Metric::kCosine) return;
    const std::int64_t count = static_cast<std::int64_t>(ids.size()) * model.n_clusters;
    for (std::int64_t i = 0; i < count; ++i) first[i] = std::sqrt(first[i]);
  });
}

}  // namespace meanwhile::learn::kmeans
