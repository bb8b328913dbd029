#include "meanwhile/learn/kmeans/measures.h"

#include <algorithm>
#include <numeric>
#include <vector>

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

}  // namespace

Json evaluate(const Model& model, const data::Dataset& data, int threads) {
  return distances_json(model, data, assign(model, data, threads));
}

Json measure(const Model& model, const data::Dataset& data, int threads,
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
  const auto mean = silhouette(data.x, ids, labels, model.metric, threads);
  json["silhouette"] = mean ? Json(*mean) : Json();
  json["silhouette_rows"] = ids.size();
  return json;
}

}  // namespace meanwhile::learn::kmeans
