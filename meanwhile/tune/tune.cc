// The steps of a comparison, in their order:
//
//   settle    every combination of parameters, checked before any data is read
//   load      the data, once
//   compare   trainings on folds (held_out.h) or on all rows (clusters.h)
//   choose    the best score
//   keep      the winner, as a run on all rows; the table, as tuning.json
#include "meanwhile/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/nearest.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/job/prepare.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/settle.h"
#include "meanwhile/tune/clusters.h"
#include "meanwhile/tune/held_out.h"

namespace meanwhile::tune {

using base::Error;
using base::ErrorKind;
using base::parameter;

namespace {

constexpr int kDefaultFolds = 5;

Json text_or_number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

class Tuning {
 public:
  Tuning(const TuneSpec& spec, const learn::Registry& registry, job::Runtime& runtime,
         job::Observer& observer)
      : spec_(spec),
        registry_(registry),
        entry_(registry.at(spec.run.learner)),
        comparing_(learn::comparing_of(entry_.name)),
        runtime_(runtime),
        observer_(observer),
        threads_(spec.threads > 0 ? spec.threads : base::hardware_threads()) {}

  TuneResult result() {
    settle();
    load();
    const double begin_s = base::now_s();
    stop_ = observer_.begin_rounds();
    comparing_.clusters ? compare_clusters() : compare_folds();
    result_.tune_s = base::now_s() - begin_s;
    if (result_.interrupted) return std::move(result_);
    choose();
    find_edges();
    keep();
    return std::move(result_);
  }

 private:
  void settle() {
    check_spec();
    result_.score = score();
    const std::vector<Json> all = combinations(spec_.axes);
    chains_ = chains(all, comparing_);
    for (const Json& values : all) {
      result_.candidates.push_back({.parameters = values});
      parameters_.push_back(learn::settle(entry_, nullptr, given(values)));
    }
    job::check(run_of(0), registry_);  // the directory to write, too
  }

  void check_spec() const {
    if (comparing_.scores.empty()) {
      throw Error(ErrorKind::kUsage,
                  "models of {} cannot be compared: no measure of {} says which "
                  "is best",
                  entry_.name, entry_.name);
    }
    const job::RunSpec& run = spec_.run;
    if (!run.resume.empty() || run.eval || run.staleness || !run.replay.empty()) {
      throw Error(ErrorKind::kUsage, "a comparison begins every training anew, on its own rows");
    }
    const bool divides = spec_.folds != 0 || spec_.test_fraction != 0;
    if (divides && comparing_.clusters) {
      throw Error(ErrorKind::kUsage,
                  "{} and {}: numbers of clusters are compared on all rows, by silhouette",
                  parameter("folds"), parameter("test_fraction"));
    }
    if (spec_.folds != 0 && spec_.test_fraction != 0) {
      throw Error(ErrorKind::kUsage, "{} and {}: give one of them", parameter("folds"),
                  parameter("test_fraction"));
    }
    for (const Axis& axis : spec_.axes) {
      if (run.parameters.contains(axis.name)) {
        throw Error(ErrorKind::kUsage, "{}: given twice", parameter(axis.name));
      }
      if (axis.name == "standardize" && entry_.of_distances) {
        throw Error(ErrorKind::kUsage,
                    "{}: changes the distances, so that models with and without it cannot be "
                    "compared",
                    parameter(axis.name));
      }
    }
  }

  learn::Comparing::Score score() const {
    const auto& known = comparing_.scores;
    if (spec_.score.empty()) return known.front();
    std::vector<std::string> names;
    for (const auto& each : known) {
      if (each.name == spec_.score) return each;
      names.push_back(each.name);
    }
    throw Error(ErrorKind::kUsage, "{}: {} is compared by {}{}", parameter("score"), entry_.name,
                base::listed(names), base::did_you_mean(spec_.score, names));
  }

  // The parameters that are set, with these values.
  Json given(const Json& values) const {
    Json all = spec_.run.parameters;
    all.update(values);
    return all;
  }

  job::RunSpec run_of(std::size_t candidate) const {
    job::RunSpec run = spec_.run;
    run.parameters = given(result_.candidates[candidate].parameters);
    // Folds are of the rows in the order of the files: a deal by content changes that order, and
    // makes one row of equal ones.
    run.deal = data::Deal::kBlocks;
    return run;
  }

  void load() {
    const job::SettledRun settled = job::settle(run_of(0), registry_);
    const job::Worker alone{.load_threads = threads_};
    job::LoadedRun loaded = job::load(settled, alone, observer_, job::Medium::kMemory);
    result_.load_s = loaded.load_s;
    part_ = std::move(loaded.part);
    seed_ = settled.seed;
  }

  void compare_clusters() {
    const Setting setting{entry_, comparing_, seed_, stop_};
    ClusterOptions options{threads_, spec_.silhouette_rows, {}};
    options.step = [this](const std::string& what) { observer_.step(what); };
    auto found = tune::compare_clusters(setting, parameters_, chains_, part_, options);
    if (!found) {
      result_.interrupted = true;
      return;
    }
    clusterings_ = std::move(*found);
    for (std::size_t i = 0; i < clusterings_.size(); ++i) {
      const Clustering& clustering = clusterings_[i];
      Candidate& candidate = result_.candidates[i];
      candidate.measures["inertia"] = clustering.inertia;
      candidate.rounds = clustering.rounds;
      candidate.seconds = clustering.seconds;
      if (clustering.silhouette) candidate.score = *clustering.silhouette;
      candidate.measures["silhouette"] = text_or_number(candidate.score);
      candidate.scores = {candidate.score};
      ++result_.trainings;
      if (clustering.fell_short) ++result_.unconverged;
    }
  }

  void compare_folds() {
    FoldOptions options;
    options.stratified = entry_.classes;
    options.seed = seed_;
    options.test_fraction = spec_.test_fraction;
    options.folds = spec_.folds != 0 ? spec_.folds : spec_.test_fraction != 0 ? 0 : kDefaultFolds;
    result_.folds = deal_folds(part_, options);
    const Setting setting{entry_, comparing_, seed_, stop_};
    HeldOutOptions held_out{threads_, {}};
    const std::size_t all = parameters_.size() * static_cast<std::size_t>(result_.folds.count);
    held_out.step = [this, all](std::size_t done) {
      observer_.step(fmt::format("{} of {} trainings", done, all));
    };
    const auto judged =
        compare_held_out(setting, parameters_, chains_, part_, result_.folds, held_out);
    result_.interrupted = judged.empty();
    for (std::size_t i = 0; i < judged.size(); ++i) take(judged[i], result_.candidates[i]);
  }

  // Means over the folds.
  void take(const std::vector<Judged>& folds, Candidate& candidate) {
    const auto count = static_cast<double>(folds.size());
    const auto mean = [&](const std::string& name) {
      double sum = 0;
      for (const Judged& fold : folds) sum += base::number_or(fold.measures, name, NAN);
      return sum / count;
    };
    for (const Judged& fold : folds) {
      candidate.scores.push_back(base::number_or(fold.measures, result_.score.name, NAN));
      candidate.rounds += fold.rounds / count;
      candidate.seconds += fold.seconds;
      ++result_.trainings;
      if (fold.fell_short) ++result_.unconverged;
    }
    for (const auto& [name, value] : folds.front().measures.items()) {
      if (value.is_number()) candidate.measures[name] = text_or_number(mean(name));
    }
    candidate.score = mean(result_.score.name);
    double squares = 0;
    for (const double score : candidate.scores) {
      squares += (score - candidate.score) * (score - candidate.score);
    }
    candidate.deviation = std::sqrt(squares / count);
  }

  void choose() {
    std::optional<std::size_t> best;
    for (const Chain& chain : chains_) {
      for (const std::size_t i : chain) {
        const double score = result_.candidates[i].score;
        if (std::isnan(score)) continue;
        const bool better =
            !best || (result_.score.higher ? score > result_.candidates[*best].score
                                           : score < result_.candidates[*best].score);
        if (better) best = i;
      }
    }
    if (!best) {
      throw Error(ErrorKind::kInput,
                  "no model has the measure {} on these rows; {} may name another one",
                  result_.score.name, parameter("score"));
    }
    result_.best = *best;
    if (clusterings_.empty() || chains_.size() > 1) return;
    std::vector<double> numbers, inertia;
    for (const std::size_t i : chains_.front()) {
      numbers.push_back(static_cast<double>(clusterings_[i].model.n_clusters));
      inertia.push_back(clusterings_[i].inertia);
    }
    if (const auto at = elbow(numbers, inertia)) result_.elbow = chains_.front()[*at];
  }

  // An edge that is no better than the value beside it promises nothing beyond.
  void find_edges() {
    const Candidate& best = result_.candidates[result_.best];
    for (const Axis& axis : spec_.axes) {
      const bool whole = entry_.schema.find(axis.name)->type == learn::ParameterType::kWhole;
      const double least = comparing_.clusters && axis.name == comparing_.path ? 2 : whole ? 1 : 0;
      auto edge = edge_of(axis, best.parameters.at(axis.name), least);
      if (!edge) continue;
      Json beside = best.parameters;
      beside[axis.name] = edge->next;
      const auto next = std::ranges::find(result_.candidates, beside, &Candidate::parameters);
      if (next->score != best.score) result_.edges.push_back(std::move(*edge));
    }
  }

  Json table() const {
    Json json = {{"learner", entry_.name},
                 {"score", result_.score.name},
                 {"higher_is_better", result_.score.higher}};
    if (result_.folds.count > 1) json["folds"] = result_.folds.count;
    if (spec_.test_fraction > 0) json["test_fraction"] = spec_.test_fraction;
    json["seed"] = seed_;
    json["rows"] = part_.rows;
    Json& rows = json["candidates"] = Json::array();
    for (const Candidate& candidate : result_.candidates) {
      Json scores = Json::array();
      for (const double score : candidate.scores) scores.push_back(text_or_number(score));
      rows.push_back({{"parameters", candidate.parameters},
                      {"score", text_or_number(candidate.score)},
                      {"deviation", text_or_number(candidate.deviation)},
                      {"scores", scores},
                      {"measures", candidate.measures},
                      {"rounds", candidate.rounds},
                      {"seconds", candidate.seconds}});
    }
    json["best"] = result_.best;
    json["chosen"] = result_.candidates[result_.best].parameters;
    if (result_.elbow) json["elbow"] = result_.candidates[*result_.elbow].parameters;
    if (!result_.edges.empty()) {
      Json& edges = json["edges"] = Json::object();
      for (const Edge& edge : result_.edges) {
        edges[edge.name] = edge.largest ? "largest" : "smallest";
      }
    }
    json["trainings"] = result_.trainings;
    json["unconverged"] = result_.unconverged;
    json["seconds"] = {{"load", result_.load_s}, {"tune", result_.tune_s}};
    return json;
  }

  void keep() {
    result_.record = table();
    job::Ready ready{.part = &part_, .load_s = result_.load_s};
    const Candidate& winner = result_.candidates[result_.best];
    ready.record["tuned"] = {{"score", result_.score.name},
                             {"value", text_or_number(winner.score)},
                             {"candidates", result_.candidates.size()}};
    // The centres that were judged are the best of many starts: another start may find worse ones.
    if (!clusterings_.empty()) {
      ready.make = [this](const Json& parameters) {
        const learn::kmeans::Model& model = clusterings_[result_.best].model;
        auto learner = std::make_unique<learn::kmeans::KMeans>(
            learn::kmeans::parameters_from_json(parameters));
        learner->set_initial_centers(model.centers, model.cols, model.counts);
        return learner;
      };
    }
    result_.run = job::run(run_of(result_.best), registry_, runtime_, observer_, nullptr, &ready);
    result_.record["out"] = result_.run.directory.string();
    result_.record["run"] = result_.run.record;
    Json kept = result_.record;
    kept.erase("run");
    base::write_file(result_.run.directory / "tuning.json", kept.dump(1) + "\n");
  }

  const TuneSpec& spec_;
  const learn::Registry& registry_;
  const learn::Entry& entry_;
  const learn::Comparing comparing_;
  job::Runtime& runtime_;
  job::Observer& observer_;
  const int threads_;
  const std::atomic<bool>* stop_ = nullptr;
  std::vector<Json> parameters_;  // of the candidates, settled
  std::vector<Chain> chains_;
  data::Part part_;
  std::uint64_t seed_ = 0;
  std::vector<Clustering> clusterings_;  // of the candidates, where they are clusters
  TuneResult result_;
};

}  // namespace

TuneResult tune(const TuneSpec& spec, const learn::Registry& registry, job::Runtime& runtime,
                job::Observer& observer) {
  return Tuning(spec, registry, runtime, observer).result();
}

}  // namespace meanwhile::tune
