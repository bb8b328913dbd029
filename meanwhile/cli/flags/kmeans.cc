// k-means on the command line: its flags are made from the description of its parameters.
#include "meanwhile/learn/kmeans/kmeans.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/learners.h"
#include "meanwhile/cli/flags/nearest.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/learn/kmeans/parameters.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using learn::kmeans::KMeans;
using learn::kmeans::Model;
using learn::kmeans::Parameters;

namespace {

using Init = learn::OpenChoice<learn::kmeans::InitMethod>;

std::vector<std::string> init_methods() { return learn::choices<learn::kmeans::InitMethod>(); }

struct InitialCenters {
  std::vector<double> values;
  std::int64_t rows = 0, cols = 0;
};

InitialCenters dense(const data::Matrix& x) {
  InitialCenters centers{{}, data::rows(x), data::cols(x)};
  centers.values.resize(static_cast<std::size_t>(centers.rows * centers.cols));
  std::visit(
      [&](const auto& m) {
        for (std::int64_t i = 0; i < m.rows; ++i) {
          double* to = centers.values.data() + i * m.cols;
          if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
            const auto row = m.row(i);
            for (std::size_t j = 0; j < row.columns.size(); ++j) to[row.columns[j]] = row.values[j];
          } else {
            std::copy(m.row(i).begin(), m.row(i).end(), to);
          }
        }
      },
      x);
  return centers;
}

// From a run directory, a model file, or a data file whose rows are the centres.
InitialCenters read_centers(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(ErrorKind::kUsage, "--init: '{}' is neither a method ({}) nor a file{}", path,
                listed(init_methods()), did_you_mean(path, init_methods()));
  }
  bool is_model = std::filesystem::is_directory(path, error) &&
                  std::filesystem::exists(std::filesystem::path(path) / "run.json", error);
  if (path.ends_with(".safetensors")) {
    const data::Metadata metadata = data::SafetensorsFile(path).metadata();
    const auto kind = metadata.find("kind");
    is_model = kind != metadata.end() && kind->second == "model";
  }
  if (is_model) {
    const LoadedModel loaded = load_model(path);
    const Model model = learn::kmeans::load_model(data::SafetensorsFile(loaded.file));
    return {model.centers, model.n_clusters, model.cols};
  }
  data::ReadOptions options;
  options.dtype = data::DType::kFloat64;
  return dense(data::read({path}, options).x);
}

class KMeansFlags final : public LearnerFlags {
 public:
  explicit KMeansFlags(CLI::App& app) {
    learn::kmeans::describe(given_, [&](const char* name, auto& field, const char* help) {
      options_[name] = add(app, flag_name(name), field, help)->group("k-means");
    });
    options_.at("init")->type_name(choices_type(init_methods()) + " or FILE");
  }

  void settle(const Json* resumed, bool has_state) override {
    const Json given = learn::kmeans::to_json(given_);
    Json settled = learn::kmeans::to_json(
        resumed == nullptr ? Parameters{} : learn::kmeans::parameters_from_json(*resumed));
    for (const auto& [name, option] : options_) {
      if (option->count() == 0) continue;
      const bool fixed = name == "n_clusters" || name == "metric" || name == "init";
      if (has_state && fixed && settled[name] != given[name]) {
        throw Error(ErrorKind::kUsage,
                    "{}: the run to resume has {}, which cannot be changed; to start from its "
                    "centres instead, give the run to --init",
                    flag_name(name), settled[name].dump());
      }
      settled[name] = given[name];
    }
    parameters_ = learn::kmeans::parameters_from_json(settled);
    if (!has_state && !parameters_.init.named()) take_centers(resumed != nullptr);
    learn::kmeans::validate(parameters_);
  }

  Json parameters() const override { return learn::kmeans::to_json(parameters_); }
  bool is_incremental() const override { return parameters_.batch_size > 0; }

  std::unique_ptr<learn::RoundLearner> begin() const override {
    auto kmeans = std::make_unique<KMeans>(parameters_);
    if (initial_.rows > 0) kmeans->set_initial_centers(initial_.values, initial_.cols);
    return kmeans;
  }

  std::unique_ptr<learn::RoundLearner> go_on(const data::SafetensorsFile& state) const override {
    auto kmeans = std::make_unique<KMeans>(parameters_);
    kmeans->restore(state);
    return kmeans;
  }

  std::unique_ptr<learn::RoundLearner> warm_start(
      const data::SafetensorsFile& state) const override {
    const Model model = learn::kmeans::load_model(state);
    auto kmeans = std::make_unique<KMeans>(parameters_);
    // Mini-batches weigh what they saw before against what they see now; Lloyd's rounds do not.
    kmeans->set_initial_centers(model.centers, model.cols, model.counts);
    return kmeans;
  }

 private:
  static CLI::Option* add(CLI::App& app, const std::string& name, std::int64_t& value,
                          const std::string& help) {
    return add_whole(app, name, value, help, 0);
  }
  static CLI::Option* add(CLI::App& app, const std::string& name, double& value,
                          const std::string& help) {
    return add_real(app, name, value, help, 0);
  }
  template <learn::Choice E>
  static CLI::Option* add(CLI::App& app, const std::string& name, E& value,
                          const std::string& help) {
    return add_choice(app, name, value, learn::choices<E>(), help);
  }
  static CLI::Option* add(CLI::App& app, const std::string& name, Init& value,
                          const std::string& help) {
    const auto set = [&value](const std::string& text) { value = Init(text); };
    return app.add_option_function<std::string>(name, set, help)->default_str(value.text());
  }

  void take_centers(bool n_clusters_known) {
    initial_ = read_centers(parameters_.init.text());
    if (!n_clusters_known && options_.at("n_clusters")->count() == 0) {
      parameters_.n_clusters = initial_.rows;
    }
    if (parameters_.n_clusters != initial_.rows) {
      throw Error(ErrorKind::kUsage, "--n-clusters: {}, but {} holds {} centres",
                  parameters_.n_clusters, parameters_.init.text(), initial_.rows);
    }
  }

  Parameters given_;       // what the flags fill
  Parameters parameters_;  // settled
  InitialCenters initial_;
  std::map<std::string, CLI::Option*> options_;
};

class KMeansModel final : public TrainedModel {
 public:
  explicit KMeansModel(Model model) : model_(std::move(model)) {}

  std::int64_t cols() const override { return model_.cols; }
  Predictions predict(const data::Dataset& data, int threads) const override {
    const auto labels = learn::kmeans::assign(model_, data, threads).labels;
    return {{labels.begin(), labels.end()}, {}};
  }
  std::int64_t transformed_cols() const override { return model_.n_clusters; }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end, int threads,
                 std::span<double> values) const override {
    learn::kmeans::transform(model_, data, begin, end, threads, values);
  }
  Json evaluate(const data::Dataset& data, int threads) const override {
    return learn::kmeans::evaluate(model_, data, threads);
  }
  Json describe() const override {
    const auto empty = std::count(model_.counts.begin(), model_.counts.end(), 0.0);
    return {{"n_clusters", model_.n_clusters},
            {"columns", model_.cols},
            {"metric", learn::to_string(model_.metric)},
            {"empty_clusters", empty},
            {"sizes", model_.counts}};
  }

 private:
  Model model_;
};

}  // namespace

std::unique_ptr<LearnerFlags> add_kmeans_flags(CLI::App& app) {
  return std::make_unique<KMeansFlags>(app);
}

std::unique_ptr<TrainedModel> load_kmeans(const data::SafetensorsFile& file) {
  return std::make_unique<KMeansModel>(learn::kmeans::load_model(file));
}

}  // namespace meanwhile::cli
