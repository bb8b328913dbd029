// A linear model as a file, and back. What is read is checked here, so that no file, damaged or
// made up, can lead the rounds that follow out of bounds.
#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"
#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/learn/linear/model.h"
#include "meanwhile/learn/linear/stages.h"
#include "meanwhile/learn/linear/state_tensors.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

namespace {

template <class P, class Visit>
void describe_progress(P& p, Visit&& visit) {
  visit("stage", p.stage);
  visit("round", p.round);
  visit("stage_round", p.stage_round);
  visit("rows", p.rows);
  visit("weight", p.weight);
  visit("mean_weight", p.mean_weight);
  visit("mean_square", p.mean_square);
  visit("rate", p.rate);
  visit("delta", p.delta);
  visit("smoothing", p.smoothing);
  visit("seen", p.seen);
  visit("initial", p.initial);
  visit("last", p.last);
  visit("stage_end", p.stage_end);
  visit("unpruned", p.unpruned);
  visit("best_held_out", p.best_held_out);
  visit("since_best", p.since_best);
  visit("retreats", p.retreats);
  visit("retreating", p.retreating);
  visit("recent", p.recent);
  visit("path_l1", p.path_l1);
  visit("ended", p.ended);
}

StageName stage_named(const std::string& name) {
  if (const auto stage = find_choice<StageName>(name)) return *stage;
  throw Error(ErrorKind::kInput, "not a linear model: its stage is '{}'", name);
}

void check_kind(const Model& model, Kind kind) {
  if (model.kind == kind) return;
  throw Error(ErrorKind::kUsage, "the model is one of {}, not of {}", to_string(model.kind),
              to_string(kind));
}

// Whether the state was made with these parameters; max_iter only says when to stop.
bool has_parameters(const data::SafetensorsFile& file, const Parameters& parameters) {
  // Older states do not name all of today's.
  Json its = to_json(parameters_from_json(metadata_json(file, "parameters", kWhat)));
  Json given = to_json(parameters);
  its.erase("max_iter");
  given.erase("max_iter");
  return its == given;
}

}  // namespace

State Linear::state() const {
  State state;
  state.learner = name();
  const Problem& problem = fit_.problem;
  const Progress& progress = fit_.progress;
  const std::int64_t D = problem.cols, C = static_cast<std::int64_t>(problem.outputs);
  const std::span<const double> w = fit_.w;
  state.learned["weights"] = data::tensor_of<double>(w.first(problem.intercepts()), {D, C});
  state.learned["intercept"] = data::tensor_of<double>(w.subspan(problem.intercepts()), {C});
  // A run that has converged needs nothing else; one that ran out of rounds may go on.
  const bool over = progress.ended && progress.ended.ending != Ending::kRanOut;
  // The score, which follows the end, goes by the weights of classes and the scale of columns.
  if (!over || !fit_.done) {
    carry(state, "moments", fit_.moments.values);
    carry(state, "class_sums", fit_.class_sums);
    carry(state, "unpruned_weights", fit_.unpruned_w);
  }
  if (!over) {
    carry(state, "squares", fit_.squares);
    carry(state, "mean_weights", fit_.mean_w);
    carry(state, "best_weights", fit_.best_w);
    carry(state, "weights_before", fit_.before);
    fit_.late_steps.save(state);
    carry(state, "last_weights", fit_.last_w);
  }
  state.parameters = to_json(fit_.parameters);
  describe_progress(progress, [&](const char* name, const auto& value) {
    put_field(state.progress, name, value);
  });
  state.progress["ended_in"] = progress.ended_in ? to_string(*progress.ended_in) : "";
  const bool in_lbfgs =
      progress.stage == StageName::kLbfgs || progress.ended_in == StageName::kLbfgs;
  if (in_lbfgs && !over) stage(StageName::kLbfgs).save(state);
  const bool in_sets =
      progress.stage == StageName::kWorkingSet || progress.ended_in == StageName::kWorkingSet;
  if (in_sets && !over) stage(StageName::kWorkingSet).save(state);
  if (!fit_.path.empty()) state.progress["path"] = path_json(fit_.path);
  state.about = {{"classes", problem.classes},
                 {"softmax", problem.softmax},
                 {"class_names", problem.class_names},
                 {"feature_names", fit_.feature_names}};
  if (fit_.counts_from_one) state.about["first_column"] = 1;
  return state;
}

void Linear::restore_progress(const data::SafetensorsFile& file) {
  const Json json = metadata_json(file, "progress", kWhat);
  Progress& progress = fit_.progress;
  try {
    describe_progress(progress, [&](const char* name, auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, StageName>) {
        if (json.contains(name)) value = stage_named(json.at(name).get<std::string>());
      } else {
        get_field(json, name, value);
      }
    });
    const auto ended_in = json.value("ended_in", std::string());
    if (!ended_in.empty()) progress.ended_in = stage_named(ended_in);
    stage(StageName::kLbfgs).load(file, json);
    stage(StageName::kWorkingSet).load(file, json);
    if (json.contains("path")) fit_.path = path_from_json(json.at("path"));
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::kInput, "not a linear model: {}", e.what());
  }
}

void Linear::restore(const data::SafetensorsFile& file) {
  const Model model = load_model(file);
  check_kind(model, fit_.kind);
  fit_.w = model.w;
  fit_.initial_classes = model.classes;
  fit_.initial_names = model.class_names;
  restore_progress(file);
  const std::size_t P = fit_.w.size(), D = static_cast<std::size_t>(model.cols);
  fit_.moments.values = carried<double>(file, "moments", fit_.moments.each * D);
  fit_.class_sums = carried<double>(file, "class_sums", model.classes.size());
  fit_.squares = carried<double>(file, "squares", P);
  fit_.mean_w = carried<double>(file, "mean_weights", P);
  fit_.best_w = carried<double>(file, "best_weights", P);
  fit_.before = carried<double>(file, "weights_before", P);
  fit_.late_steps.load(file, P);
  fit_.last_w = carried<double>(file, "last_weights", P);
  fit_.unpruned_w = carried<double>(file, "unpruned_weights", P);
  // Where the rounds had run out, more may be allowed now.
  Progress& progress = fit_.progress;
  const Parameters& parameters = fit_.parameters;
  const bool more = progress.round < fit_.most_rounds();
  if (more && progress.ended.ending == Ending::kRanOut) {
    progress.ended = {};
    if (!progress.ended_in) stage_named("");
    progress.stage = *progress.ended_in;
    if (!fit_.last_w.empty()) fit_.w = std::move(fit_.last_w);
    fit_.last_w.clear();
    fit_.unpruned_w.clear();
  }
  // A run that has ended has its model: only pruning and the score may be missing.
  if (progress.ended && progress.stage != StageName::kPrune) progress.stage = StageName::kScore;
  // A run that has converged and has its score carries nothing: nothing is left to do, unless other
  // parameters ask for more.
  const bool over = progress.ended && progress.ended.ending != Ending::kRanOut;
  if (over && fit_.class_sums.empty() && has_parameters(file, parameters)) {
    complete_ = true;
    return;
  }
  const StageName now = progress.stage;
  if (now == StageName::kStatistics) return;
  // A working set is no beginning for other solvers, nor they for it.
  const bool sets = now == StageName::kWorkingSet;
  if (now < StageName::kPrune && sets != (parameters.solver == Solver::kWorkingSet)) {
    refuse_to_go_on();
  }
  const bool goes_on = now < StageName::kPrune, sgd = goes_on && now < StageName::kLbfgs;
  const bool newton = parameters.solver != Solver::kSgd && parameters.send == Send::kModel;
  const bool needs_moments = parameters.standardize || now == StageName::kLbfgs ||
                             now == StageName::kPrune || (goes_on && newton);
  if ((needs_moments && fit_.moments.values.empty()) ||
      fit_.class_sums.size() != model.classes.size() ||
      (sgd && parameters.adaptive && fit_.squares.empty())) {
    refuse_to_go_on();
  }
}

void Linear::refuse_to_go_on() {
  throw Error(ErrorKind::kInput,
              "the run to resume lacks the state that these parameters need; start from "
              "its model instead");
}

void Linear::start_from(const data::SafetensorsFile& file) {
  Model model = load_model(file);
  check_kind(model, fit_.kind);
  fit_.initial_classes = std::move(model.classes);
  fit_.initial_names = std::move(model.class_names);
  fit_.w = std::move(model.w);
  if (fit_.parameters.solver != Solver::kSgd) return;
  const Json progress = metadata_json(file, "progress", kWhat);
  double &rate = fit_.progress.rate, &seen = fit_.progress.seen;
  try {
    rate = progress.value("rate", 0.0);
    seen = progress.value("seen", 0.0);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::kInput, "not a linear model: {}", e.what());
  }
  if (!(rate >= 0) || !(seen >= 0)) rate = seen = 0;
}

void Linear::follow(const data::SafetensorsFile& before, const data::SafetensorsFile& file,
                    double share) {
  start_from(file);
  const Model model = load_model(before);
  check_kind(model, fit_.kind);
  if (model.w.size() != fit_.w.size()) return;  // made for other columns
  fit_.heading.resize(fit_.w.size());
  for (std::size_t i = 0; i < fit_.w.size(); ++i) {
    fit_.heading[i] = share * (fit_.w[i] - model.w[i]);
  }
}

}  // namespace meanwhile::learn::linear
