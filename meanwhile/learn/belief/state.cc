// A job of belief propagation as a file, and back. What is read is checked here, so that no file,
// damaged or made up, can lead the rounds that follow out of bounds.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/belief/belief.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::belief {

namespace {

// JSON of [variable, residual], and back.
template <class Worst>
Json pairs_of(const std::vector<Worst>& worst) {
  Json pairs = Json::array();
  for (const Worst& one : worst) pairs.push_back({one.variable, one.residual});
  return pairs;
}

template <class Worst>
std::vector<Worst> worst_from(const Json& pairs, std::int64_t variables) {
  std::vector<Worst> worst;
  for (std::size_t i = 0; pairs.is_array() && i < pairs.size(); ++i) {
    const Json& pair = pairs[i];
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() ||
        !pair[1].is_number()) {
      continue;
    }
    const auto variable = pair[0].get<std::int64_t>();
    if (variable >= 0 && variable < variables) worst.push_back({variable, pair[1].get<double>()});
  }
  return worst;
}

constexpr char kWhatState[] = "a state of belief propagation";

[[noreturn]] void refuse(const char* what) {
  throw base::Error(base::ErrorKind::kInput, "not {}: {}", kWhatState, what);
}

template <class T>
std::vector<T> read_tensor(const data::SafetensorsFile& file, const std::string& name) {
  if (!file.has(name)) return {};
  const auto values = file.tensor(name).as<T>();
  return {values.begin(), values.end()};
}

}  // namespace

State Belief::state() const {
  State state;
  const auto vector = []<class T>(const std::vector<T>& values) {
    return data::tensor_of<T>(values, {static_cast<std::int64_t>(values.size())});
  };
  if (!facts_.empty()) {
    state.learned["cards"] = vector(facts_.cards);
    state.carried["order"] = vector(facts_.order);
    state.carried["degree"] = vector(facts_.degree);
  }
  if (!belief_.empty()) {
    state.carried["beliefs"] = vector(belief_);
    state.carried["fields"] = vector(field_);
    if (!zeros_.empty()) {
      state.carried["zeros"] = vector(zeros_);
      state.carried["field_zeros"] = vector(field_zeros_);
    }
  }
  // Before an attempt has ended, the marginals are those of the beliefs as they are.
  if (!belief_.empty()) {
    if (marginals_.empty()) make_marginals(shown_);
    state.learned["marginals"] = vector(marginals_.empty() ? shown_ : marginals_);
  }
  state.parameters = to_json(parameters_);
  state.progress = {{"course", course_.to_json()},   {"factors", facts_.factors},
                    {"messages", facts_.messages},   {"ratios", facts_.ratios},
                    {"message_zeros", facts_.zeros}, {"any_field_zeros", facts_.field_zeros},
                    {"grid", facts_.grid},           {"ended", ended_}};
  state.progress["worst"] = pairs_of(worst_);
  state.progress["best_worst"] = pairs_of(best_worst_);
  state.about = record();
  state.about["exact_messages"] = parameters_.exact_messages;
  return state;
}

void Belief::restore(const data::SafetensorsFile& file) {
  if (learner_of(file) != name()) refuse("another learner made it");
  const Json progress = metadata_json(file, "progress", kWhatState);
  course_ = Course(parameters_);
  course_.restore(base::member_or_null(progress, "course"));
  facts_ = {};
  if (course_.step() == Step::kFacts) return;
  facts_.cards = read_tensor<std::int32_t>(file, "cards");
  facts_.order = read_tensor<std::int32_t>(file, "carried/order");
  facts_.degree = read_tensor<std::int32_t>(file, "carried/degree");
  facts_.factors = base::count_or(progress, "factors", 0);
  facts_.messages = base::count_or(progress, "messages", 0);
  facts_.ratios = base::flag_or(progress, "ratios", false);
  facts_.zeros = base::flag_or(progress, "message_zeros", false);
  facts_.field_zeros = base::flag_or(progress, "any_field_zeros", false);
  facts_.grid = base::number_or(progress, "grid", 0);
  facts_.clip = parameters_.clip;
  const std::size_t count = facts_.cards.size();
  if (facts_.order.size() != count || facts_.degree.size() != count) {
    refuse("its tensors differ in length");
  }
  for (std::size_t v = 0; v < count; ++v) {
    const bool fine = facts_.cards[v] >= 1 && facts_.degree[v] >= 0 && facts_.order[v] >= 0 &&
                      static_cast<std::size_t>(facts_.order[v]) < count &&
                      (!facts_.is_ratio(v) || facts_.cards[v] == 2);
    if (!fine) refuse("a variable has a number out of range");
  }
  if (!(facts_.grid >= 0 && facts_.grid <= 1)) refuse("its grid is out of range");
  facts_.complete();
  if (course_.orders() != facts_.orders() || course_.messages() != facts_.messages) {
    refuse("its rounds are not of its variables");
  }
  worst_ = worst_from<Worst>(base::member_or_null(progress, "worst"), facts_.variables());
  best_worst_ = worst_from<Worst>(base::member_or_null(progress, "best_worst"), facts_.variables());
  if (course_.step() == Step::kFields) return;
  field_ = read_tensor<double>(file, "carried/fields");
  belief_ = read_tensor<double>(file, "carried/beliefs");
  zeros_ = read_tensor<std::int64_t>(file, "carried/zeros");
  field_zeros_ = read_tensor<std::int64_t>(file, "carried/field_zeros");
  marginals_.clear();
  if (!course_.results().empty()) marginals_ = read_tensor<double>(file, "marginals");
  const auto values = static_cast<std::size_t>(facts_.values());
  const std::size_t zeros = facts_.zeros || facts_.field_zeros ? values : 0;
  if (field_.size() != values || belief_.size() != values || zeros_.size() != zeros ||
      field_zeros_.size() != zeros) {
    refuse("its tensors differ in length");
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(belief_.begin(), belief_.end(), finite) ||
      !std::all_of(field_.begin(), field_.end(), finite)) {
    refuse("a belief is no number");
  }
}

}  // namespace meanwhile::learn::belief
