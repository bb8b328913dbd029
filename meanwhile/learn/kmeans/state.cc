// A k-means job as a file, and back.
#include "meanwhile/base/error.h"
#include "meanwhile/learn/kmeans/kmeans.h"

namespace meanwhile::learn::kmeans {

using base::Error;
using base::ErrorKind;

namespace {

const char* const kBestCenters = "best_centers";
const char* const kBestCounts = "best_counts";

Json metadata_json(const data::SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    throw Error(ErrorKind::kInput, "not a model: no '{}' in its metadata", key);
  Json json = Json::parse(found->second, nullptr, false);
  if (!json.is_object())
    throw Error(ErrorKind::kInput, "not a model: '{}' in its metadata is no JSON object", key);
  return json;
}

template <class T>
T field(const Json& json, const char* name, T otherwise) {
  try {
    return json.contains(name) ? json.at(name).get<T>() : otherwise;
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kInput, "not a k-means model: '{}' has the wrong type", name);
  }
}

std::vector<double> doubles(const data::Tensor& tensor) {
  const auto values = tensor.as<double>();
  return {values.begin(), values.end()};
}

}  // namespace

State KMeans::state() const {
  State state;
  state.learner = name();
  const std::int64_t K = parameters_.n_clusters, D = model_.cols;
  if (progress_.seeded) {
    state.learned["centers"] = data::tensor_of<double>(model_.centers, {K, D});
    state.learned["counts"] = data::tensor_of<double>(model_.counts, {K});
  }
  if (!best_.centers.empty()) {
    state.carried[kBestCenters] = data::tensor_of<double>(best_.centers, {K, D});
    state.carried[kBestCounts] = data::tensor_of<double>(best_.counts, {K});
  }
  state.parameters = to_json(parameters_);
  state.progress = {{"trial", progress_.trial},      {"round", progress_.round},
                    {"rounds", progress_.rounds},    {"seeded", progress_.seeded},
                    {"far", progress_.far},          {"smoothed", progress_.smoothed},
                    {"lowest", progress_.lowest},    {"since_lowest", progress_.since_lowest},
                    {"best_inertia", best_.inertia}, {"best_rounds", best_.rounds},
                    {"ended", progress_.ended},      {"given_centers", given_centers_}};
  return state;
}

void KMeans::restore(const data::SafetensorsFile& file) {
  const Json progress = metadata_json(file, "progress");
  progress_.trial = field<std::int64_t>(progress, "trial", 0);
  progress_.round = field<std::int64_t>(progress, "round", 0);
  progress_.rounds = field<std::int64_t>(progress, "rounds", 0);
  progress_.seeded = field<bool>(progress, "seeded", true);
  progress_.far = field<std::int64_t>(progress, "far", 0);
  progress_.smoothed = field<double>(progress, "smoothed", -1);
  progress_.lowest = field<double>(progress, "lowest", -1);
  progress_.since_lowest = field<std::int64_t>(progress, "since_lowest", 0);
  progress_.ended = field<std::string>(progress, "ended", "");
  given_centers_ = field<bool>(progress, "given_centers", false);
  // Where the rounds had run out, more may be allowed now.
  const bool more = progress_.round < parameters_.max_iter;
  if (more && progress_.ended.starts_with("max_iter")) progress_.ended.clear();
  if (progress_.trial < 0 || progress_.round < 0 || progress_.rounds < 0 || progress_.far < 0) {
    throw Error(ErrorKind::kInput, "not a k-means model: a negative counter");
  }
  if (file.has(std::string("carried/") + kBestCenters)) {
    best_.centers = doubles(file.tensor(std::string("carried/") + kBestCenters));
    best_.counts = doubles(file.tensor(std::string("carried/") + kBestCounts));
    best_.inertia = field<double>(progress, "best_inertia", 0);
    best_.rounds = field<std::int64_t>(progress, "best_rounds", 0);
  }
  if (!progress_.seeded) return;
  model_ = load_model(file);
  if (model_.n_clusters != parameters_.n_clusters || model_.metric != metric_) {
    throw Error(ErrorKind::kUsage, "the model has n_clusters={} and metric={}; these cannot change",
                model_.n_clusters, model_.metric == Metric::kCosine ? "cosine" : "euclidean");
  }
}

Model load_model(const data::SafetensorsFile& file) {
  const auto learner = file.metadata().find("learner");
  if (learner == file.metadata().end() || learner->second != "kmeans") {
    throw Error(ErrorKind::kInput, "not a k-means model");
  }
  const Json parameters = metadata_json(file, "parameters");
  const data::Tensor& centers = file.tensor("centers");
  Model model;
  model.metric = field<std::string>(parameters, "metric", "euclidean") == "cosine"
                     ? Metric::kCosine
                     : Metric::kEuclidean;
  if (centers.shape.size() != 2 || centers.shape[0] < 1 || centers.shape[1] < 1) {
    throw Error(ErrorKind::kInput, "not a k-means model: centers is not a matrix");
  }
  model.n_clusters = centers.shape[0];
  model.cols = centers.shape[1];
  model.centers = doubles(centers);
  model.counts = doubles(file.tensor("counts"));
  if (static_cast<std::int64_t>(model.counts.size()) != model.n_clusters) {
    throw Error(ErrorKind::kInput, "not a k-means model: {} counts for {} centres",
                model.counts.size(), model.n_clusters);
  }
  return model;
}

}  // namespace meanwhile::learn::kmeans
