// svm, logistic and linear on the command line: flags are made from the description of parameters.
#include "meanwhile/learn/linear/linear.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/learners.h"
#include "meanwhile/learn/linear/model.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using learn::linear::Kind;
using learn::linear::Linear;
using learn::linear::Model;
using learn::linear::Parameters;
using learn::linear::Solver;

namespace {

constexpr std::size_t kLargest = 20;  // weights that inspect lists

class LinearFlags final : public LearnerFlags {
 public:
  LinearFlags(CLI::App& app, Kind kind) : kind_(kind) {
    const std::string group = to_string(kind);
    given_.loss = learn::linear::losses(kind).front();
    learn::linear::describe(given_, [&](const char* name, auto& field, const char* help) {
      const std::string parameter = name;
      const bool classes = parameter == "class_weight" || parameter == "multi_class";
      if (parameter == "huber_delta" && kind != Kind::kLinear) return;
      if (classes && kind == Kind::kLinear) return;
      if (parameter == "loss") help = "what a row costs that the model does not fit";
      options_[name] = add(app, parameter, field, help)->group(group);
    });
  }

  void settle(const Json* resumed, bool has_state) override {
    const Json given = learn::linear::to_json(given_);
    Json settled = learn::linear::to_json(
        resumed == nullptr ? Parameters{} : learn::linear::parameters_from_json(*resumed));
    for (const auto& [name, option] : options_) {
      if (option->count() == 0) continue;
      const bool fixed = name == "loss" || name == "fit_intercept" || name == "multi_class";
      if (has_state && fixed && settled[name] != given[name]) {
        throw Error(ErrorKind::kUsage, "{}: the run to resume has {}, which cannot be changed",
                    flag_name(name), settled[name].dump());
      }
      settled[name] = given[name];
    }
    parameters_ = learn::linear::settled(kind_, learn::linear::parameters_from_json(settled));
  }

  Json parameters() const override { return learn::linear::to_json(parameters_); }
  bool is_incremental() const override { return parameters_.solver == Solver::kSgd; }
  // Other solvers than sgd send what they need.
  std::vector<std::string> open_sends() const override {
    if (options_.at("send")->count() > 0 || parameters_.solver != Solver::kSgd) return {};
    return {"model", "gradient"};
  }
  void take_send(const std::string& send) override {
    parameters_.send = learn::parse_choice<learn::Send>("send", send);
  }

  std::unique_ptr<learn::RoundLearner> begin() const override {
    return std::make_unique<Linear>(kind_, parameters_);
  }
  std::unique_ptr<learn::RoundLearner> go_on(const data::SafetensorsFile& state) const override {
    auto linear = std::make_unique<Linear>(kind_, parameters_);
    linear->restore(state);
    return linear;
  }
  std::unique_ptr<learn::RoundLearner> warm_start(
      const data::SafetensorsFile& state) const override {
    auto linear = std::make_unique<Linear>(kind_, parameters_);
    linear->start_from(state);
    return linear;
  }

 private:
  CLI::Option* add(CLI::App& app, const std::string& name, std::int64_t& value,
                   const std::string& help) {
    return add_whole(app, flag_name(name), value, help, 1);
  }
  CLI::Option* add(CLI::App& app, const std::string& name, double& value, const std::string& help) {
    return add_real(app, flag_name(name), value, help, 0);
  }
  CLI::Option* add(CLI::App& app, const std::string& name, bool& value, const std::string& help) {
    // "--fit-intercept,!--no-fit-intercept": both are there, the last one given counts.
    const std::string flag = flag_name(name);
    return app.add_flag(flag + ",!--no-" + flag.substr(2), value, help)
        ->default_str(value ? "on" : "off");
  }
  CLI::Option* add(CLI::App& app, const std::string& name,
                   learn::OpenChoice<learn::linear::ClassWeight>& value, const std::string& help) {
    const auto set = [&value](const std::string& text) {
      value = learn::OpenChoice<learn::linear::ClassWeight>(text);
    };
    return app.add_option_function<std::string>(flag_name(name), set, help)->type_name("TEXT");
  }
  CLI::Option* add(CLI::App& app, const std::string& name,
                   std::optional<learn::linear::Loss>& value, const std::string& help) {
    return add_choice(app, flag_name(name), *value, learn::choices(learn::linear::losses(kind_)),
                      help);
  }
  template <learn::Choice E>
  CLI::Option* add(CLI::App& app, const std::string& name, E& value, const std::string& help) {
    return add_choice(app, flag_name(name), value, learn::choices<E>(), help);
  }

  const Kind kind_;
  Parameters given_;       // what the flags fill
  Parameters parameters_;  // settled
  std::map<std::string, CLI::Option*> options_;
};

class LinearModel final : public TrainedModel {
 public:
  explicit LinearModel(Model model) : model_(std::move(model)) {}

  std::int64_t cols() const override { return model_.cols; }
  bool ignores_extra_columns() const override { return true; }

  Predictions predict(const data::Dataset& data, int threads) const override {
    Predictions predictions;
    predictions.values = learn::linear::predict(model_, data, threads);
    predictions.names = model_.class_names;
    return predictions;
  }

  std::vector<std::string> classes() const override {
    std::vector<std::string> labels;
    for (std::size_t k = 0; k < model_.classes.size(); ++k) labels.push_back(model_.class_label(k));
    return labels;
  }

  void probabilities(const data::Dataset& data, std::int64_t begin, std::int64_t end, int threads,
                     std::span<double> values) const override {
    if (model_.kind != Kind::kLogistic) {
      throw Error(
          ErrorKind::kUsage,
          "--probabilities: {} gives none; 'train logistic' does, and 'transform' writes the "
          "margins of this model",
          to_string(model_.kind));
    }
    const std::size_t C = model_.outputs, K = model_.classes.size();
    std::vector<double> z(static_cast<std::size_t>(end - begin) * C);
    learn::linear::margins(model_, data, begin, end, threads, z);
    for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin); ++i) {
      const auto p = learn::linear::probabilities(model_, std::span(z).subspan(i * C, C));
      std::copy(p.begin(), p.end(), values.begin() + static_cast<std::ptrdiff_t>(i * K));
    }
  }

  std::int64_t transformed_cols() const override {
    return static_cast<std::int64_t>(model_.outputs);
  }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end, int threads,
                 std::span<double> values) const override {
    learn::linear::margins(model_, data, begin, end, threads, values);
  }
  Json evaluate(const data::Dataset& data, int threads) const override {
    return learn::linear::evaluate(model_, data, threads);
  }

  Json describe() const override {
    const std::size_t C = model_.outputs, features = model_.w.size() - C;
    const auto nonzero = std::count_if(model_.w.begin(), model_.w.end() - static_cast<int>(C),
                                       [](double w) { return w != 0; });
    Json json = {{"columns", model_.cols}, {"nonzero_weights", nonzero}};
    if (!model_.classes.empty()) json["classes"] = classes();
    json["intercept"] = std::vector<double>(
        model_.w.begin() + static_cast<std::ptrdiff_t>(features), model_.w.end());
    std::vector<std::size_t> order(features);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t shown = std::min(kLargest, features);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown),
                      order.end(), [&](std::size_t a, std::size_t b) {
                        const double x = std::abs(model_.w[a]), y = std::abs(model_.w[b]);
                        return x != y ? x > y : a < b;
                      });
    Json largest = Json::array();
    for (std::size_t i = 0; i < shown && model_.w[order[i]] != 0; ++i) {
      Json entry = {{"weight", model_.w[order[i]]},
                    {"of", model_.feature_name(static_cast<std::int64_t>(order[i] / C))}};
      if (C > 1) entry["for"] = model_.class_label(order[i] % C);
      largest.push_back(entry);
    }
    json["largest_weights"] = largest;
    return json;
  }

 private:
  Model model_;
};

}  // namespace

std::unique_ptr<LearnerFlags> add_svm_flags(CLI::App& app) {
  return std::make_unique<LinearFlags>(app, Kind::kSvm);
}
std::unique_ptr<LearnerFlags> add_logistic_flags(CLI::App& app) {
  return std::make_unique<LinearFlags>(app, Kind::kLogistic);
}
std::unique_ptr<LearnerFlags> add_linear_flags(CLI::App& app) {
  return std::make_unique<LinearFlags>(app, Kind::kLinear);
}

std::unique_ptr<TrainedModel> load_linear(const data::SafetensorsFile& file) {
  return std::make_unique<LinearModel>(learn::linear::load_model(file));
}

}  // namespace meanwhile::cli
