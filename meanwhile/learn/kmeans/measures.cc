#include "meanwhile/learn/kmeans/measures.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <variant>
#include <vector>

#include "meanwhile/data/release_rows.h"
#include "meanwhile/learn/kmeans/silhouette.h"
#include "meanwhile/measures/agreement.h"

namespace meanwhile::learn::kmeans {

namespace {

Json distances_json(const Model& model, const data::Dataset& data, const Assignment& result) {
  const double weight = std::accumulate(result.counts.begin(), result.counts.end(), 0.0);
  Json json;
  json["inertia"] = result.inertia;
  json["rows"] = data::rows(data.x);
  json["weight"] = weight;
  json["mean_distance"] = weight > 0 ? result.inertia / weight : 0.0;
  json["metric"] = model.metric == Metric::kCosine ? "1 - cosine" : "squared euclidean";
  json["n_clusters"] = model.n_clusters;
  json["empty"] = std::count(result.counts.begin(), result.counts.end(), 0.0);
  json["sizes"] = result.counts;
  return json;
}

// The silhouette looks at its rows again and again. Those of a mapped file are copied, for else the
// pages of the file around each of them would stay resident.
template <class M>
std::optional<double> of_copied_rows(const M& m, std::span<const std::int64_t> ids,
                                     std::span<const std::int32_t> labels, Metric metric,
                                     base::Threads threads) {
  std::vector<typename M::Value> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> row_start = {0}, all(ids.size());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  M copy = m;
  copy.rows = std::ssize(ids);
  for (const std::int64_t id : ids) {
    if constexpr (data::kIsSparse<M>) {
      const auto row = m.row(id);
      columns.insert(columns.end(), row.columns.begin(), row.columns.end());
      values.insert(values.end(), row.values.begin(), row.values.end());
      row_start.push_back(std::ssize(values));
    } else {
      const auto row = m.row(id);
      values.insert(values.end(), row.begin(), row.end());
    }
    data::release_rows(m, {id, id + 1});
  }
  copy.values = values.data();
  if constexpr (data::kIsSparse<M>) {
    copy.row_start = row_start.data();
    copy.columns = columns.data();
  }
  return silhouette(copy, all, labels, metric, threads);
}

}  // namespace

Json measure(const Model& model, const data::Dataset& data, base::Threads threads,
             std::int64_t silhouette_sample, std::uint64_t seed) {
  const Assignment result = assign(model, data, threads);
  Json json = distances_json(model, data, result);
  if (!data.labels.empty()) {
    const measures::Agreement found = measures::agreement(data.labels, result.labels);
    json["ari"] = found.ari;
    json["nmi"] = found.nmi;
  }
  if (silhouette_sample == 0) return json;
  const auto ids = silhouette_rows(data::rows(data.x), silhouette_sample, seed);
  std::vector<std::int32_t> labels;
  for (const std::int64_t id : ids) labels.push_back(result.labels[static_cast<std::size_t>(id)]);
  const auto mean = !data.mapped
                        ? silhouette(data.x, ids, labels, model.metric, threads)
                        : std::visit(
                              [&](const auto& m) {
                                return of_copied_rows(m, ids, labels, model.metric, threads);
                              },
                              data.x);
  json["silhouette"] = mean ? Json(*mean) : Json();
  json["silhouette_rows"] = ids.size();
  return json;
}

}  // namespace meanwhile::learn::kmeans
