// A k-means job as a file, and back. What is read is checked here, so that no file, damaged or made
// up, can lead the rounds that follow out of bounds.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::kmeans {

using base::Error;
using base::ErrorKind;

namespace {

const char* const kBestCenters = "best_centers";
const char* const kBestCounts = "best_counts";
const char* const kSeeds = "seeds";
const char* const kShown = "shown";

constexpr const char* kWhat = "a k-means model";

template <class T>
T field(const Json& json, const char* name, T otherwise) {
  try {
    return json.contains(name) ? json.at(name).get<T>() : otherwise;
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kInput, "not a k-means model: '{}' has the wrong type", name);
  }
}

// A count of rounds or the like; more than any job can reach would only overflow.
std::int64_t counter(const Json& json, const char* name) {
  const auto value = field<std::int64_t>(json, name, 0);
  if (value < 0 || value > (std::int64_t{1} << 60)) {
    throw Error(ErrorKind::kInput, "not a k-means model: '{}' is {}", name, value);
  }
  return value;
}

struct ReadCenters {
  std::int64_t n_clusters = 0, cols = 0;
  std::vector<double> centers, counts;
};

// The tensors of these names: a matrix, and a number for each of its rows.
ReadCenters read_centers(const data::SafetensorsFile& file, const std::string& centers_name,
                         const std::string& counts_name) {
  const data::Tensor& centers = file.tensor(centers_name);
  const data::Tensor& counts = file.tensor(counts_name);
  if (centers.shape.size() != 2 || centers.shape[0] < 1 || centers.shape[1] < 1) {
    throw Error(ErrorKind::kInput, "not a k-means model: {} is not a matrix", centers_name);
  }
  if (counts.shape != std::vector{centers.shape[0]}) {
    throw Error(ErrorKind::kInput, "not a k-means model: {} is not one number for each of {} rows",
                counts_name, centers.shape[0]);
  }
  const auto values = centers.as<double>(), weights = counts.as<double>();
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto weight = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!std::all_of(values.begin(), values.end(), finite) ||
      !std::all_of(weights.begin(), weights.end(), weight)) {
    throw Error(ErrorKind::kInput, "not a k-means model: {} or {} hold what is no number",
                centers_name, counts_name);
  }
  return {centers.shape[0],
          centers.shape[1],
          {values.begin(), values.end()},
          {weights.begin(), weights.end()}};
}

}  // namespace

void KMeans::read_seeding(const data::SafetensorsFile& file, const Json& numbers) {
  const auto rows = [&](const std::string& name) {
    std::vector<double> values;
    if (!file.has("carried/" + name)) return values;
    const auto found = file.tensor("carried/" + name).as<double>();
    values.assign(found.begin(), found.end());
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
      throw Error(ErrorKind::kInput, "not a k-means model: {} hold what is no number", name);
    }
    return values;
  };
  interrupted_ = Carried{rows(kSeeds), rows(kShown), numbers};
}

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
  if (seeding_ != nullptr) {
    const auto rows = [&](std::span<const double> values) {
      return data::tensor_of(values, {static_cast<std::int64_t>(values.size()) / D, D});
    };
    if (!seeding_->chosen().empty()) state.carried[kSeeds] = rows(seeding_->chosen());
    if (!seeding_->shown().empty()) state.carried[kShown] = rows(seeding_->shown());
  }
  state.parameters = to_json(parameters_);
  state.progress = {{"trial", progress_.trial},      {"round", progress_.round},
                    {"rounds", progress_.rounds},    {"seeded", progress_.seeded},
                    {"far", progress_.far},          {"smoothed", progress_.smoothed},
                    {"lowest", progress_.lowest},    {"since_lowest", progress_.since_lowest},
                    {"best_inertia", best_.inertia}, {"best_rounds", best_.rounds},
                    {"ended", progress_.ended},      {"given_centers", given_centers_},
                    {"best_ended", best_.ended},     {"starts", starts_}};
  if (seeding_ != nullptr) state.progress["seeding"] = seeding_->numbers();
  if (model_.open) state.about["first_column"] = 1;
  return state;
}

void KMeans::restore(const data::SafetensorsFile& file) {
  const Json progress = metadata_json(file, "progress", kWhat);
  progress_.trial = counter(progress, "trial");
  progress_.round = counter(progress, "round");
  progress_.rounds = counter(progress, "rounds");
  progress_.seeded = field<bool>(progress, "seeded", true);
  // A row for each empty cluster at most.
  progress_.far = std::min(counter(progress, "far"), parameters_.n_clusters);
  progress_.smoothed = field<double>(progress, "smoothed", -1);
  progress_.lowest = field<double>(progress, "lowest", -1);
  progress_.since_lowest = counter(progress, "since_lowest");
  progress_.ended = ended_from_text(field<std::string>(progress, "ended", ""));
  given_centers_ = field<bool>(progress, "given_centers", false);
  starts_ = parameters_.n_init.number.value_or(std::min(counter(progress, "starts"), kMostStarts));
  // Where the rounds had run out, more may be allowed now.
  const bool more = progress_.round < parameters_.max_iter;
  if (more && progress_.ended.ending == Ending::kRanOut) progress_.ended = {};
  // A final state does not say so here, and has no round more to do than max_iter allows.
  if (!more && progress_.seeded && !progress_.ended) progress_.ended = ran_out();
  const std::string carried = "carried/";
  std::int64_t best_cols = 0;
  if (file.has(carried + kBestCenters)) {
    ReadCenters best = read_centers(file, carried + kBestCenters, carried + kBestCounts);
    best_cols = best.cols;
    if (best.n_clusters != parameters_.n_clusters) {
      throw Error(ErrorKind::kInput, "not a k-means model: {} best centres for {} clusters",
                  best.n_clusters, parameters_.n_clusters);
    }
    best_ = {std::move(best.centers), std::move(best.counts),
             field<double>(progress, "best_inertia", 0), counter(progress, "best_rounds"),
             ended_from_text(field<std::string>(progress, "best_ended", ""))};
  }
  interrupted_.reset();
  if (!progress_.seeded) {
    if (progress.contains("seeding")) read_seeding(file, progress["seeding"]);
    return;
  }
  model_ = load_model(file);
  if (best_cols != 0 && best_cols != model_.cols) {
    throw Error(ErrorKind::kInput, "not a k-means model: centres of {} and of {} columns",
                model_.cols, best_cols);
  }
  if (model_.n_clusters != parameters_.n_clusters || model_.metric != metric_) {
    throw Error(ErrorKind::kUsage, "the model has n_clusters={} and metric={}; these cannot change",
                model_.n_clusters, to_string(model_.metric));
  }
}

Model load_model(const data::SafetensorsFile& file) {
  if (learner_of(file) != "kmeans") throw Error(ErrorKind::kInput, "not {}", kWhat);
  const Json parameters = metadata_json(file, "parameters", kWhat);
  ReadCenters learned = read_centers(file, "centers", "counts");
  Model model;
  const auto metric = field<std::string>(parameters, "metric", to_string(Metric::kEuclidean));
  const auto known = find_choice<Metric>(metric);
  if (!known) throw Error(ErrorKind::kInput, "not a k-means model: its metric is '{}'", metric);
  model.metric = *known;
  model.n_clusters = learned.n_clusters;
  model.cols = learned.cols;
  model.centers = std::move(learned.centers);
  model.counts = std::move(learned.counts);
  if (file.metadata().contains("about")) {
    model.open = base::count_or(metadata_json(file, "about", kWhat), "first_column", 0) == 1;
  }
  return model;
}

}  // namespace meanwhile::learn::kmeans
