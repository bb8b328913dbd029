#include "meanwhile/learn/kmeans/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/text/csv_values.h"
#include "meanwhile/learn/kmeans/initial_centers.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/kmeans/measures.h"
#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/learn/kmeans/parameters.h"
#include "meanwhile/learn/model_tables.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::learn::kmeans {

using base::Error;
using base::ErrorKind;

namespace {

class KMeansModel final : public learn::Model, public ModelTables {
 public:
  KMeansModel(kmeans::Model model, std::shared_ptr<const data::TableSchema> table)
      : model_(std::move(model)), table_(std::move(table)), columns_{model_.cols} {
    if (table_) columns_.names = data::encoded_names(*table_);
    if (std::ssize(columns_.names) != model_.cols) columns_.names.clear();
  }

  const ColumnSchema& columns() const override { return columns_; }
  Predictions predict(const data::Dataset& data, base::Threads threads) const override {
    const auto labels = assign(model_, data, threads).labels;
    return {{labels.begin(), labels.end()}, {}};
  }
  std::string label_name() const override { return "cluster"; }
  std::int64_t transformed_cols() const override { return model_.n_clusters; }
  std::vector<std::string> transformed_names() const override {
    return numbered_names("distance", model_.n_clusters);
  }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                 base::Threads threads, std::span<double> values) const override {
    kmeans::transform(model_, data, begin, end, threads, values);
  }
  Json evaluate(const data::Dataset& data, base::Threads threads,
                const Measuring& measuring) const override {
    const auto measured = [&](const kmeans::Model& model) {
      return kmeans::measure(model, data, threads, measuring.silhouette_sample, measuring.seed);
    };
    const std::int64_t cols = data::cols(data.x);
    const bool is_wider = model_.open && data.counts_from_one && cols > model_.cols;
    return is_wider ? measured(widened(model_, cols)) : measured(model_);
  }
  Json describe() const override {
    const auto empty = std::count(model_.counts.begin(), model_.counts.end(), 0.0);
    Json json = {{"n_clusters", model_.n_clusters},
                 {"columns", model_.cols},
                 {"metric", model_.metric == Metric::kCosine ? "cosine" : "euclidean"},
                 {"empty_clusters", empty},
                 {"sizes", model_.counts}};
    if (model_.cols <= kColumnsShown && model_.n_clusters <= kCentersShown) {
      const std::vector<double> mean = overall_mean();
      if (!mean.empty()) json["mean"] = by_column(mean);
      if (std::ssize(scales()) == model_.cols) json["scale"] = by_column(scales());
      json["centers"] = Json::array();
      for (std::int64_t k = 0; k < model_.n_clusters; ++k) {
        json["centers"].push_back(by_column(center(k)));
      }
    }
    return json;
  }
  std::string summary_csv() const override {
    std::vector<std::string> names = {"cluster", "size"};
    for (std::int64_t j = 0; j < model_.cols; ++j) names.push_back(column_name(j));
    std::string text = data::csv_header(names, ',');
    const auto add = [&](const std::string& name, double size, const std::vector<double>& values) {
      text += fmt::format("{},{}", name, size);
      for (const double value : values) text += fmt::format(",{}", value);
      text += '\n';
    };
    for (std::int64_t k = 0; k < model_.n_clusters; ++k) {
      add(fmt::format("{}", k), model_.counts[static_cast<std::size_t>(k)], center(k));
    }
    const std::vector<double> mean = overall_mean();
    if (!mean.empty()) {
      add("all", std::accumulate(model_.counts.begin(), model_.counts.end(), 0.0), mean);
    }
    return text;
  }

 private:
  static constexpr std::int64_t kColumnsShown = 100, kCentersShown = 100;

  // By which the values of columns were divided; empty: they were not.
  const std::vector<double>& scales() const {
    static const std::vector<double> kNone;
    return table_ ? table_->scales : kNone;
  }
  std::string column_name(std::int64_t j) const {
    return columns_.names.empty() ? fmt::format("{}", j)
                                  : columns_.names[static_cast<std::size_t>(j)];
  }
  // In the units of the data.
  std::vector<double> center(std::int64_t k) const {
    const auto cols = static_cast<std::size_t>(model_.cols);
    const auto first = model_.centers.begin() + static_cast<std::ptrdiff_t>(k * model_.cols);
    std::vector<double> values(first, first + static_cast<std::ptrdiff_t>(cols));
    for (std::size_t j = 0; j < cols && j < scales().size(); ++j) values[j] *= scales()[j];
    return values;
  }
  // The mean of all rows is that of the centres, weighted by their rows: each is the mean of its
  // own. Empty for centres of unit length, which are no means.
  std::vector<double> overall_mean() const {
    const double all = std::accumulate(model_.counts.begin(), model_.counts.end(), 0.0);
    if (model_.metric == Metric::kCosine || all <= 0) return {};
    std::vector<double> mean(static_cast<std::size_t>(model_.cols), 0.0);
    for (std::int64_t k = 0; k < model_.n_clusters; ++k) {
      const double share = model_.counts[static_cast<std::size_t>(k)] / all;
      const std::vector<double> values = center(k);
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += share * values[j];
    }
    return mean;
  }
  Json by_column(const std::vector<double>& values) const {
    Json json = Json::object();
    for (std::int64_t j = 0; j < model_.cols; ++j) {
      json[column_name(j)] = values[static_cast<std::size_t>(j)];
    }
    return json;
  }

  kmeans::Model model_;
  std::shared_ptr<const data::TableSchema> table_;
  ColumnSchema columns_;
};

// The centres that the parameter `init` names; none when it names a method.
InitialCenters centers_for(const Parameters& parameters) {
  if (parameters.init.named()) return {};
  InitialCenters centers = read_centers(parameters.init.text());
  if (centers.rows != parameters.n_clusters) {
    throw Error(ErrorKind::kUsage, "{}: {}, but {} holds {}", base::parameter("n_clusters"),
                parameters.n_clusters, parameters.init.text(),
                base::counted(centers.rows, "centre"));
  }
  return centers;
}

// A file of centres says how many clusters there are, unless the user does.
Json complete(const Json& settled, const Json& given, bool fresh) {
  Parameters parameters = parameters_from_json(settled);
  if (fresh && !parameters.init.named()) {
    if (parameters.standardize) {
      throw Error(
          ErrorKind::kUsage,
          "{}: the centres of a file are in the units of its columns; to go on from a model "
          "that was standardised, resume its run",
          base::parameter("standardize"));
    }
    const bool from_file = given.contains("init") && !given.contains("n_clusters");
    if (from_file) parameters.n_clusters = read_centers(parameters.init.text()).rows;
    centers_for(parameters);
  }
  validate(parameters);
  return to_json(parameters);
}

std::unique_ptr<RoundLearner> make(const Json& json) {
  const Parameters parameters = parameters_from_json(json);
  auto kmeans = std::make_unique<KMeans>(parameters);
  InitialCenters initial = centers_for(parameters);
  if (initial.rows > 0) kmeans->set_initial_centers(std::move(initial.values), initial.cols);
  return kmeans;
}

std::unique_ptr<RoundLearner> restore(const data::SafetensorsFile& state, const Json& json) {
  auto kmeans = std::make_unique<KMeans>(parameters_from_json(json));
  kmeans->restore(state);
  return kmeans;
}

std::unique_ptr<RoundLearner> warm_start(const data::SafetensorsFile& state, const Json& json) {
  const kmeans::Model model = load_model(state);
  auto kmeans = std::make_unique<KMeans>(parameters_from_json(json));
  // Mini-batches weigh what they saw before against what they see now; Lloyd's rounds do not.
  kmeans->set_initial_centers(model.centers, model.cols, model.counts);
  return kmeans;
}

CalibrationShape shape(std::int64_t clusters, std::int64_t cols, std::int64_t width) {
  constexpr std::int64_t kLeastRows = 512;
  // The first of the rounds is slower than the others.
  return {
      {{"n_clusters", clusters}, {"max_iter", 8}, {"tol", 0}, {"init", "random"}, {"n_init", 1}},
      width > 1,
      cols,
      width,
      std::max(kLeastRows, 4 * clusters)};
}

std::vector<CalibrationShape> calibration(bool quick) {
  std::vector<CalibrationShape> shapes;
  for (const std::int64_t cols :
       quick ? std::vector<std::int64_t>{16, 128} : std::vector<std::int64_t>{4, 32, 256}) {
    for (const std::int64_t k : quick ? std::vector<std::int64_t>{32, 1024}
                                      : std::vector<std::int64_t>{4, 32, 256, 2048}) {
      shapes.push_back(shape(k, cols, 1));
    }
    if (!quick && cols < 200) {
      for (const std::int64_t k : {8, 128}) shapes.push_back(shape(k, cols, 5'000));
    }
  }
  return shapes;
}

}  // namespace

Entry entry() {
  Entry entry;
  entry.name = "kmeans";
  entry.summary = "k-means clustering: Lloyd's algorithm or mini-batches, Euclidean or cosine";
  entry.examples =
      "examples:\n"
      "  meanwhile train kmeans points.npy --n-clusters 100 --seed 7 --out runs/a\n"
      "  meanwhile train kmeans points.npy --resume runs/a --max-iter 500\n"
      "  meanwhile train kmeans digits.csv.gz --label-column -1 --n-clusters 10 --n-init 5\n"
      "  meanwhile train kmeans texts.libsvm --metric cosine --n-clusters 50\n"
      "  meanwhile train kmeans large.safetensors --batch-size 10000 --memory-limit 2G\n"
      "  meanwhile train kmeans points.npy --init centres.npy\n";
  entry.of_distances = true;
  entry.takes_weights = true;
  // Mini-batches draw rows, not weights: a row that stands for many is missing from most of them.
  entry.small_by_content = [](const Json& parameters) {
    return parameters.at("batch_size").get<std::int64_t>() == 0;
  };
  entry.schema = schema_of(Parameters{});
  entry.schema.least(1, {"n_clusters", "n_init", "max_iter"})
      .fix({"n_clusters", "metric", "init", "standardize"})
      .ends_run({"max_iter"})
      .rare({"shift_tol"});
  entry.schema.at("init").other_text = "FILE";
  entry.instead_of_changing =
      "to start from its centres instead, give the run to " + base::parameter("init");
  entry.complete = complete;
  entry.make = make;
  entry.restore = restore;
  entry.warm_start = warm_start;
  entry.load_model = [](const data::SafetensorsFile& file) -> std::unique_ptr<learn::Model> {
    return std::make_unique<KMeansModel>(load_model(file), table_of(file));
  };
  entry.is_incremental = [](const Json& parameters) {
    return parameters.at("batch_size").get<std::int64_t>() > 0;
  };
  entry.calibration = calibration;
  entry.in_quick_calibration = true;
  return entry;
}

}  // namespace meanwhile::learn::kmeans
