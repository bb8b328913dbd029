// A linear model as a file, and back. What is read is checked here, so that no file, damaged or
// made up, can lead the rounds that follow out of bounds.
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/learn/linear/model.h"
#include "meanwhile/learn/linear/tail.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

template <class P, class Visit>
void Linear::describe_progress(P& p, Visit&& visit) {
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
  visit("best_held_out", p.best_held_out);
  visit("since_best", p.since_best);
  visit("retreats", p.retreats);
  visit("retreating", p.retreating);
  visit("recent", p.recent);
  visit("ended", p.ended);
  visit("ended_in", p.ended_in);
}

namespace {

Json metadata_json(const data::SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    throw Error(ErrorKind::kInput, "not a model: no '{}' in its metadata", key);
  Json json = Json::parse(found->second, nullptr, false);
  if (!json.is_object())
    throw Error(ErrorKind::kInput, "not a model: '{}' in its metadata is no JSON object", key);
  return json;
}

// The tensor carried under this name, of `size` finite numbers; empty when there is none.
template <class T>
std::vector<T> carried(const data::SafetensorsFile& file, const std::string& name,
                       std::size_t size) {
  if (!file.has("carried/" + name)) return {};
  const std::span<const T> values = file.tensor("carried/" + name).as<T>();
  if (values.size() != size) {
    throw Error(ErrorKind::kInput, "not a linear model: {} has {} numbers, expected {}", name,
                values.size(), size);
  }
  for (const T value : values) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::kInput, "not a linear model: {} holds what is no number", name);
    }
  }
  return {values.begin(), values.end()};
}

std::string pair_name(const char* which, std::size_t i) {
  return fmt::format("lbfgs_{}_{:03}", which, i);
}

}  // namespace

State Linear::state() const {
  State state;
  state.learner = name();
  const std::int64_t D = problem_.cols, C = static_cast<std::int64_t>(problem_.outputs);
  const std::span<const double> w = w_;
  state.learned["weights"] = data::tensor_of<double>(w.first(problem_.intercepts()), {D, C});
  state.learned["intercept"] = data::tensor_of<double>(w.subspan(problem_.intercepts()), {C});
  // Of no use to one that has converged; one that ran out of rounds may go on.
  const bool over = progress_.ended && progress_.ended.ending != Ending::kRanOut;
  const auto carry = [&](const std::string& name, const auto& values) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    if (values.empty()) return;
    state.carried[name] = data::tensor_of<T>(values, {static_cast<std::int64_t>(values.size())});
  };
  // The score, which follows the end, goes by the weights of classes and the scale of columns.
  if (!over || !done_) {
    carry("moments", moments_);
    carry("class_sums", class_sums_);
  }
  if (!over) {
    carry("squares", squares_);
    carry("mean_weights", mean_w_);
    carry("best_weights", best_w_);
    carry("weights_before", before_);
    carry("last_weights", last_w_);
  }
  state.parameters = to_json(parameters_);
  describe_progress(progress_,
                    [&](const char* name, const auto& value) { state.progress[name] = value; });
  const bool in_lbfgs = stage() == Stage::kLbfgs || progress_.ended_in == "lbfgs";
  if (lbfgs_ && in_lbfgs && !over) {
    const Lbfgs::Memory& memory = lbfgs_->memory();
    carry("lbfgs_x", memory.x);
    carry("lbfgs_g", memory.g);
    carry("lbfgs_d", memory.d);
    for (std::size_t i = 0; i < memory.pairs.size(); ++i) {
      carry(pair_name("s", i), memory.pairs[i].s);
      carry(pair_name("y", i), memory.pairs[i].y);
    }
    state.progress["lbfgs"] = {{"f", memory.f},
                               {"t", memory.t},
                               {"tries", memory.tries},
                               {"started", memory.started},
                               {"pairs", memory.pairs.size()}};
  }
  state.about = {{"classes", problem_.classes},
                 {"softmax", problem_.softmax},
                 {"class_names", class_names_},
                 {"feature_names", feature_names_}};
  return state;
}

void Linear::restore(const data::SafetensorsFile& file) {
  const Model model = load_model(file);
  if (model.kind != kind_) {
    throw Error(ErrorKind::kUsage, "the model is one of {}, not of {}", to_string(model.kind),
                name());
  }
  w_ = model.w;
  initial_classes_ = model.classes;
  initial_names_ = model.class_names;
  const std::size_t P = w_.size(), D = static_cast<std::size_t>(model.cols);
  const Json progress = metadata_json(file, "progress");
  try {
    describe_progress(progress_, [&](const char* name, auto& value) {
      if (progress.contains(name)) progress.at(name).get_to(value);
    });
    stage();
    moments_ = carried<double>(file, "moments", moments_each() * D);
    class_sums_ = carried<double>(file, "class_sums", model.classes.size());
    squares_ = carried<double>(file, "squares", P);
    mean_w_ = carried<double>(file, "mean_weights", P);
    best_w_ = carried<double>(file, "best_weights", P);
    before_ = carried<double>(file, "weights_before", P);
    last_w_ = carried<double>(file, "last_weights", P);
    if (progress.contains("lbfgs")) {
      const Json& lbfgs = progress.at("lbfgs");
      Lbfgs::Memory memory;
      memory.x = carried<double>(file, "lbfgs_x", P);
      memory.g = carried<double>(file, "lbfgs_g", P);
      memory.d = carried<double>(file, "lbfgs_d", P);
      lbfgs.at("f").get_to(memory.f);
      lbfgs.at("t").get_to(memory.t);
      lbfgs.at("tries").get_to(memory.tries);
      lbfgs.at("started").get_to(memory.started);
      const auto pairs = lbfgs.at("pairs").get<std::size_t>();
      const bool whole =
          !memory.x.empty() && (!memory.started || (!memory.d.empty() && !memory.g.empty()));
      if (!whole || pairs > 100)
        throw Error(ErrorKind::kInput, "not a linear model: L-BFGS is cut");
      for (std::size_t i = 0; i < pairs; ++i) {
        memory.pairs.push_back({carried<float>(file, pair_name("s", i), P),
                                carried<float>(file, pair_name("y", i), P)});
        if (memory.pairs.back().s.empty() || memory.pairs.back().y.empty()) {
          throw Error(ErrorKind::kInput, "not a linear model: pair {} of L-BFGS is missing", i);
        }
      }
      const auto most = static_cast<std::size_t>(parameters_.history);
      while (memory.pairs.size() > most) memory.pairs.pop_front();
      restored_ = std::move(memory);
    }
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::kInput, "not a linear model: {}", e.what());
  }
  // Where the rounds had run out, more may be allowed now.
  const bool more = progress_.round < parameters_.max_iter;
  if (more && progress_.ended.ending == Ending::kRanOut) {
    progress_.ended = {};
    progress_.stage = progress_.ended_in;
    if (!last_w_.empty()) w_ = std::move(last_w_);
    last_w_.clear();
  }
  // What has ended has its model: only the score may be missing.
  if (progress_.ended) progress_.stage = "score";
  const Stage now = stage();
  if (now == Stage::kStatistics) return;
  const bool goes_on = now != Stage::kScore, sgd = goes_on && now != Stage::kLbfgs;
  const bool newton = parameters_.solver != Solver::kSgd && parameters_.send == Send::kModel;
  const bool needs_moments = parameters_.standardize || now == Stage::kLbfgs || (goes_on && newton);
  if ((needs_moments && moments_.empty()) || class_sums_.size() != model.classes.size() ||
      (sgd && parameters_.adaptive && squares_.empty())) {
    throw Error(
        ErrorKind::kInput,
        "the run to resume has not what these parameters need; start from its model instead");
  }
}

void Linear::start_from(const data::SafetensorsFile& file) {
  Model model = load_model(file);
  if (model.kind != kind_) {
    throw Error(ErrorKind::kUsage, "the model is one of {}, not of {}", to_string(model.kind),
                name());
  }
  initial_classes_ = std::move(model.classes);
  initial_names_ = std::move(model.class_names);
  w_ = std::move(model.w);
  if (parameters_.solver != Solver::kSgd) return;
  const Json progress = metadata_json(file, "progress");
  try {
    progress_.rate = progress.value("rate", 0.0);
    progress_.seen = progress.value("seen", 0.0);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::kInput, "not a linear model: {}", e.what());
  }
  if (!(progress_.rate >= 0) || !(progress_.seen >= 0)) progress_.rate = progress_.seen = 0;
}

}  // namespace meanwhile::learn::linear
