// Alternating least squares as a file, and back. What is read is checked here, so that no file,
// damaged or made up, can lead the rounds that follow out of bounds.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"
#include "meanwhile/learn/factorize/als.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;

namespace {

constexpr char kWhatState[] = "a state of factorize";

[[noreturn]] void refuse_state(const char* what) {
  throw Error(ErrorKind::kInput, "not {}: {}", kWhatState, what);
}

template <class T>
std::vector<T> read_tensor(const data::SafetensorsFile& file, const std::string& name,
                           std::size_t size) {
  if (size == 0) return {};
  const auto values = file.tensor(name).as<T>();
  if (values.size() != size) refuse_state((name + " has the wrong size").c_str());
  const bool finite =
      std::all_of(values.begin(), values.end(), [](T value) { return std::isfinite(value); });
  if (!finite) refuse_state((name + " holds what is no number").c_str());
  return {values.begin(), values.end()};
}

template <class P, class Visit>
void describe_numbers(P& p, Visit&& visit) {
  visit("pass", p.pass);
  visit("step", p.step);
  visit("mean", p.mean);
  visit("weight", p.weight);
  visit("ratings", p.ratings);
  visit("objective", p.objective);
  visit("pass_objective", p.pass_objective);
  visit("squares", p.squares);
}

}  // namespace

State Als::state() const {
  State state;
  state.learner = name();
  state.parameters = to_json(parameters_);
  state.progress["phase"] = to_string(progress_.phase);
  describe_numbers(progress_,
                   [&](const char* name, const auto& value) { state.progress[name] = value; });
  state.progress["ended"] = progress_.ended;
  if (progress_.phase == AlsPhase::kFacts) return state;
  shown_.n_factors = factors();
  shown_.mean = is_explicit() ? progress_.mean : 0;  // a mean of counts predicts nothing
  shown_.biased = biased_;
  shown_.user_names = user_names_;
  shown_.item_names = item_names_;
  shown_.user_biases = user_bias_;
  shown_.item_biases = item_bias_;
  const auto strip = [&](const std::vector<float>& table, std::vector<float>& to) {
    to.clear();
    for (auto row = table.begin(); row != table.end(); row += static_cast<std::ptrdiff_t>(width_)) {
      to.insert(to.end(), row, row + static_cast<std::ptrdiff_t>(factors()));
    }
  };
  strip(user_table_, shown_.user_factors);
  strip(item_table_, shown_.item_factors);
  shown_.put(state);
  state.about["ratings"] = progress_.ratings;
  state.about["objective"] = progress_.objective / progress_.weight;
  if (is_explicit() && progress_.squares > 0) {
    state.about["rmse"] = std::sqrt(progress_.squares / progress_.weight);
  }
  const auto carry = [&]<class T>(const char* name, const std::vector<T>& values) {
    if (values.empty()) return;
    state.carried[name] = data::tensor_of<T>(values, {static_cast<std::int64_t>(values.size())});
  };
  carry("item_weight", item_weight_);
  carry("user_gram", user_gram_);
  carry("residual", residual_);
  carry("direction", direction_);
  carry("left", left_);
  return state;
}

void Als::restore(const data::SafetensorsFile& file) {
  const Json json = metadata_json(file, "progress", kWhatState);
  Progress progress;
  try {
    const auto phase = find_choice<AlsPhase>(base::text_or(json, "phase", ""));
    if (!phase) refuse_state("its phase is unknown");
    progress.phase = *phase;
    describe_numbers(progress, [&](const char* name, auto& value) { json.at(name).get_to(value); });
    json.at("ended").get_to(progress.ended);
  } catch (const Json::exception&) {
    refuse_state("its progress has the wrong types");
  }
  const std::int64_t most_steps = std::int64_t{1} << 40;
  if (progress.pass < 0 || progress.step < 0 || progress.pass > most_steps ||
      progress.step > most_steps || !std::isfinite(progress.mean) ||
      !std::isfinite(progress.objective) || !std::isfinite(progress.pass_objective)) {
    refuse_state("its progress is impossible");
  }
  progress_ = progress;
  if (progress.phase == AlsPhase::kFacts) return;
  if (!(progress.weight > 0)) refuse_state("its ratings weigh nothing");
  Trained trained = Trained::of_file(file);
  if (trained.n_factors != factors() || trained.biased != biased_) {
    throw Error(ErrorKind::kUsage, "the model has n_factors={} and {} biases, which cannot change",
                trained.n_factors, trained.biased ? "has" : "no");
  }
  const auto widen = [&](const std::vector<float>& rows, std::vector<float>& table) {
    const std::size_t count = rows.size() / factors();
    table.assign(count * width_, 0);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(rows.data() + i * factors(), factors(), table.data() + i * width_);
      if (biased_) table[i * width_ + factors()] = 1;
    }
  };
  widen(trained.user_factors, user_table_);
  widen(trained.item_factors, item_table_);
  user_bias_ = std::move(trained.user_biases);
  item_bias_ = std::move(trained.item_biases);
  user_names_ = std::move(trained.user_names);
  item_names_ = std::move(trained.item_names);
  const auto items = static_cast<std::size_t>(item_names_.size());
  item_weight_ = read_tensor<double>(file, "carried/item_weight", is_explicit() ? items : 0);
  user_gram_ = read_tensor<double>(file, "carried/user_gram", is_explicit() ? 0 : width_ * width_);
  user_gram32_ = {user_gram_.begin(), user_gram_.end()};
  const bool amid = progress.phase == AlsPhase::kItems && !is_exact();
  residual_ = read_tensor<float>(file, "carried/residual", amid ? items * width_ : 0);
  direction_ = read_tensor<float>(file, "carried/direction", amid ? items * width_ : 0);
  left_ = read_tensor<float>(file, "carried/left", amid ? items : 0);
  // Where passes had run out, more may be allowed now; what was enough may not be enough.
  const Ending ending = progress.ended.ending;
  const auto tol_was = [&] {
    return base::number_or(metadata_json(file, "parameters", kWhatState), "tol", 0);
  };
  if ((ending == Ending::kRanOut && progress.pass < parameters_.max_iter) ||
      (ending == Ending::kConverged && parameters_.tol < tol_was() &&
       progress.pass < parameters_.max_iter)) {
    progress_.ended = {};
    progress_.phase = AlsPhase::kUsers;
  }
}

}  // namespace meanwhile::learn::factorize
