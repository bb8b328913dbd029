#include "meanwhile/learn/linear/working_set.h"

#include <algorithm>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"
#include "meanwhile/learn/linear/state_tensors.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

std::int64_t place_of(std::span<const std::int32_t> live, std::int32_t column) {
  const auto found = std::lower_bound(live.begin(), live.end(), column);
  return found != live.end() && *found == column ? found - live.begin() : -1;
}

std::vector<std::int32_t> top_candidates(std::vector<Candidate> candidates, std::size_t most) {
  if (candidates.size() > most) {
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(most),
                     candidates.end(), [](const Candidate& a, const Candidate& b) {
                       return a.priority != b.priority ? a.priority > b.priority
                                                       : a.column < b.column;
                     });
    candidates.resize(most);
  }
  std::vector<std::int32_t> columns;
  for (const Candidate& candidate : candidates) columns.push_back(candidate.column);
  std::sort(columns.begin(), columns.end());
  return columns;
}

namespace {

constexpr const char* kPrefix = "working_set_";

template <class W, class Visit>
void describe_numbers(W& w, Visit&& visit) {
  visit("phase", w.phase);
  visit("begun", w.begun);
  visit("scored", w.scored);
  visit("centre", w.centre);
  visit("weight", w.weight);
  visit("null_objective", w.null_objective);
  visit("noise", w.noise);
  visit("largest_l1", w.largest_l1);
  visit("best_dual", w.best_dual);
  visit("has_dual", w.has_dual);
  visit("gap", w.gap);
  visit("last_objective", w.last_objective);
  visit("stalled", w.stalled);
  visit("intercept_slope", w.intercept_slope);
  visit("known", w.known);
  visit("trying", w.trying);
  visit("length", w.length);
  visit("predicted", w.predicted);
  visit("before_objective", w.before_objective);
  visit("intercept_before", w.intercept_before);
  visit("intercept_move", w.intercept_move);
}

template <class W, class Visit>
void describe_vectors(W& w, Visit&& visit) {
  visit("live", w.live);
  visit("columns", w.columns);
  visit("cross", w.cross);
  visit("slopes", w.slopes);
  visit("before", w.before);
  visit("moves", w.moves);
}

[[noreturn]] void refuse(const char* what) {
  throw Error(ErrorKind::kInput, "not a linear model: {} of its working set", what);
}

}  // namespace

void save(const WorkingSet& set, State& state, std::vector<double>& packed_gram) {
  Json& json = state.progress["working_set"];
  describe_numbers(set, [&](const char* name, const auto& value) { put_field(json, name, value); });
  describe_vectors(set, [&](const char* name, const auto& values) {
    json["sizes"][name] = values.size();
    carry(state, std::string(kPrefix) + name, values);
  });
  packed_gram.clear();
  for (std::size_t i = 0; i < set.gram.size(); ++i) {
    packed_gram.insert(packed_gram.end(), set.gram.row(i), set.gram.row(i) + i + 1);
  }
  json["sizes"]["gram"] = set.gram.size();
  carry(state, std::string(kPrefix) + "gram", packed_gram);
}

void load(WorkingSet& set, const data::SafetensorsFile& file, const Json& progress,
          std::size_t columns) {
  if (!progress.contains("working_set")) return;
  const Json& json = progress.at("working_set");
  set = {};
  describe_numbers(set, [&](const char* name, auto& value) { get_field(json, name, value); });
  const Json& sizes = json.at("sizes");
  const auto size_of = [&](const char* name) {
    const auto size = sizes.at(name).get<std::size_t>();
    if (size > columns) refuse("the size");
    return size;
  };
  describe_vectors(set, [&](const char* name, auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    values = carried<Value>(file, std::string(kPrefix) + name, size_of(name));
    if (values.size() != size_of(name)) refuse("a tensor");
  });
  const std::size_t known = size_of("gram"), block = set.columns.size();
  const auto packed = carried<double>(file, std::string(kPrefix) + "gram", packed_size(0, known));
  if (packed.size() != packed_size(0, known)) refuse("the matrix");
  set.gram.grow(known);
  for (std::size_t i = 0, at = 0; i < known; ++i) {
    for (std::size_t j = 0; j <= i; ++j) set.gram.set(i, j, packed[at++]);
  }
  const auto in_range = [&](std::int32_t j) {
    return j >= 0 && static_cast<std::size_t>(j) < columns;
  };
  std::vector<std::int32_t> sorted = set.columns;
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const bool ascending = std::is_sorted(set.live.begin(), set.live.end(), std::less_equal<>());
  if (!distinct || !ascending || !std::all_of(sorted.begin(), sorted.end(), in_range) ||
      !std::all_of(set.live.begin(), set.live.end(), in_range)) {
    refuse("the columns");
  }
  const bool fits = set.known <= block && known == set.known && set.cross.size() == known &&
                    set.slopes.size() == block && set.before.size() == set.moves.size() &&
                    (!set.trying || set.before.size() == block);
  if (!fits) refuse("the sizes");
}

}  // namespace meanwhile::learn::linear
