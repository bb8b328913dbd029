// Conditioning a factor graph on observed states.
#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/data/files/factors/factor_graph.h"

namespace meanwhile::data {

namespace {

// The table of one factor at the observed states of some of its variables.
class Slice {
 public:
  // `state`: -1 for a variable that was not observed.
  Slice(const FactorGraph& graph, std::int64_t factor, std::span<const std::int32_t> state) {
    const auto scope = graph.scope(factor);
    std::int64_t step = 1;
    for (std::size_t i = scope.size(); i-- > 0;) {  // the fastest first
      const auto v = static_cast<std::size_t>(scope[i]);
      digits_.push_back({graph.cards[v], state[v], step});
      if (state[v] < 0) step *= graph.cards[v];
      if (state[v] < 0) scope_.push_back(scope[i]);
    }
    std::reverse(scope_.begin(), scope_.end());
  }

  const std::vector<std::int32_t>& scope() const { return scope_; }
  // The place in the slice; -1 for an entry that contradicts the observations.
  std::int32_t place(std::int64_t from) const {
    std::int64_t to = 0;
    for (const Digit& digit : digits_) {
      const std::int64_t at = from % digit.card;
      from /= digit.card;
      if (digit.state < 0) to += at * digit.step;
      if (digit.state >= 0 && at != digit.state) return -1;
    }
    return static_cast<std::int32_t>(to);
  }

 private:
  struct Digit {
    std::int64_t card = 1, state = -1, step = 1;
  };
  std::vector<Digit> digits_;
  std::vector<std::int32_t> scope_;
};

}  // namespace

FactorGraph with_evidence(const FactorGraph& graph, std::span<const Observation> observed) {
  std::vector<std::int32_t> state(graph.cards.size(), -1);
  for (const Observation& one : observed) state[static_cast<std::size_t>(one.variable)] = one.state;
  FactorGraph given;
  given.cards = graph.cards;
  std::vector<bool> mentioned(graph.cards.size());
  std::vector<std::int32_t> places;
  std::vector<double> values;
  for (std::int64_t f = 0; f < graph.factors(); ++f) {
    const Slice slice(graph, f, state);
    const auto entries = graph.entries(f);
    places.clear();
    values.clear();
    for (std::size_t i = 0; i < entries.places.size(); ++i) {
      const std::int32_t place = slice.place(entries.places[i]);
      if (place < 0) continue;
      places.push_back(place);
      values.push_back(entries.values[i]);
    }
    if (values.empty()) {
      throw base::Error(base::ErrorKind::kInput,
                        "factor {}: {}, so no state of the model is possible (log Z is -inf)", f,
                        entries.values.empty() ? "all entries of its table are zero"
                                               : "the evidence contradicts its table");
    }
    for (const std::int32_t v : slice.scope()) mentioned[static_cast<std::size_t>(v)] = true;
    given.add(slice.scope(), places, values);
  }
  for (std::size_t v = 0; v < state.size(); ++v) {
    if (mentioned[v]) continue;
    const auto variable = static_cast<std::int32_t>(v);
    places.clear();
    if (state[v] >= 0) places.push_back(state[v]);
    for (std::int32_t x = 0; state[v] < 0 && x < graph.cards[v]; ++x) places.push_back(x);
    values.assign(places.size(), 1);
    given.add({&variable, 1}, places, values);
  }
  return given;
}

void check_sizes(const FactorGraph& graph) {
  std::int64_t states = 0, entries = 0;
  for (const std::int32_t card : graph.cards) states += card;
  for (std::int64_t f = 0; f < graph.factors() && entries <= kMostEntriesOfAll; ++f) {
    entries += graph.table_size(f);
  }
  if (states <= kMostStatesOfAll && entries <= kMostEntriesOfAll) return;
  throw base::Error(
      base::ErrorKind::kInput,
      "is too large: {} of all variables together, and at most {} states and {} entries "
      "of tables, zeros included, are read",
      base::counted(states, "state"), kMostStatesOfAll, kMostEntriesOfAll);
}

}  // namespace meanwhile::data
