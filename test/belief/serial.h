// Inference that shares no code with what is under test: enumeration of all states, and plain
// belief propagation in float64 with messages as probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "meanwhile/data/files/factors/factor_graph.h"

namespace meanwhile::test {

struct Answer {
  std::vector<std::vector<double>> marginals;  // of each variable
  double log_z = 0;
  std::vector<std::int32_t> best;  // the state of largest weight
  double log_best = 0;
};

inline double entry(const data::FactorGraph& graph, std::int64_t f,
                    const std::vector<std::int32_t>& state) {
  std::int64_t place = 0;
  for (const std::int32_t v : graph.scope(f)) {
    place = place * graph.cards[static_cast<std::size_t>(v)] + state[static_cast<std::size_t>(v)];
  }
  const auto entries = graph.entries(f);
  for (std::size_t i = 0; i < entries.places.size(); ++i) {
    if (entries.places[i] == place) return entries.values[i];
  }
  return 0;
}

// Calls use(state) for every joint state of the variables in `over`.
template <class Use>
void each_state(const data::FactorGraph& graph, const std::vector<std::int32_t>& over,
                const Use& use) {
  std::vector<std::int32_t> state(graph.cards.size(), 0);
  for (;;) {
    use(state);
    std::size_t i = 0;
    for (; i < over.size(); ++i) {
      const auto v = static_cast<std::size_t>(over[i]);
      if (++state[v] < graph.cards[v]) break;
      state[v] = 0;
    }
    if (i == over.size()) return;
  }
}

inline Answer enumerate(const data::FactorGraph& graph) {
  Answer answer;
  std::vector<std::int32_t> all;
  for (std::int32_t v = 0; v < graph.variables(); ++v) {
    all.push_back(v);
    answer.marginals.emplace_back(
        static_cast<std::size_t>(graph.cards[static_cast<std::size_t>(v)]), 0.0);
  }
  double z = 0, best = -1;
  each_state(graph, all, [&](const std::vector<std::int32_t>& state) {
    double weight = 1;
    for (std::int64_t f = 0; f < graph.factors(); ++f) weight *= entry(graph, f, state);
    z += weight;
    for (std::size_t v = 0; v < state.size(); ++v) {
      answer.marginals[v][static_cast<std::size_t>(state[v])] += weight;
    }
    if (weight > best) {
      best = weight;
      answer.best = state;
    }
  });
  for (auto& marginal : answer.marginals) {
    for (double& p : marginal) p /= z;
  }
  answer.log_z = std::log(z);
  answer.log_best = std::log(best);
  return answer;
}

// Flooding with probabilities until no message changes by more than 1e-15; damping by half.
inline Answer serial_belief(const data::FactorGraph& graph, int most_rounds = 20'000) {
  using Message = std::vector<double>;
  const auto factors = static_cast<std::size_t>(graph.factors());
  std::vector<std::vector<Message>> to_variable(factors), to_factor(factors);
  const auto each_slot = [&](const auto& use) {
    for (std::size_t f = 0; f < factors; ++f) {
      const auto scope = graph.scope(static_cast<std::int64_t>(f));
      for (std::size_t i = 0; i < scope.size(); ++i) {
        use(f, i, static_cast<std::size_t>(scope[i]));
      }
    }
  };
  const auto normalize = [](Message& m) {
    double sum = 0;
    for (const double x : m) sum += x;
    for (double& x : m) x /= sum;
  };
  each_slot([&](std::size_t f, std::size_t, std::size_t v) {
    to_variable[f].emplace_back(static_cast<std::size_t>(graph.cards[v]), 1.0 / graph.cards[v]);
  });
  for (int round = 0; round < most_rounds; ++round) {
    to_factor = to_variable;
    each_slot([&](std::size_t f, std::size_t i, std::size_t v) {
      Message product(static_cast<std::size_t>(graph.cards[v]), 1.0);
      each_slot([&](std::size_t g, std::size_t j, std::size_t u) {
        if (u != v || g == f) return;
        for (std::size_t k = 0; k < product.size(); ++k) product[k] *= to_variable[g][j][k];
      });
      normalize(product);
      to_factor[f][i] = product;
    });
    double change = 0;
    each_slot([&](std::size_t f, std::size_t i, std::size_t v) {
      const auto scope = graph.scope(static_cast<std::int64_t>(f));
      Message sum(static_cast<std::size_t>(graph.cards[v]), 0.0);
      each_state(graph, {scope.begin(), scope.end()}, [&](const std::vector<std::int32_t>& state) {
        double weight = entry(graph, static_cast<std::int64_t>(f), state);
        for (std::size_t j = 0; j < scope.size(); ++j) {
          const auto u = static_cast<std::size_t>(scope[j]);
          if (j != i) weight *= to_factor[f][j][static_cast<std::size_t>(state[u])];
        }
        sum[static_cast<std::size_t>(state[v])] += weight;
      });
      normalize(sum);
      Message& old = to_variable[f][i];
      for (std::size_t k = 0; k < sum.size(); ++k) {
        change = std::max(change, std::abs(sum[k] - old[k]));
        old[k] = (old[k] + sum[k]) / 2;
      }
    });
    if (change < 1e-15) break;
  }
  Answer answer;
  for (const std::int32_t card : graph.cards) {
    answer.marginals.emplace_back(static_cast<std::size_t>(card), 1.0);
  }
  each_slot([&](std::size_t f, std::size_t i, std::size_t v) {
    for (std::size_t k = 0; k < answer.marginals[v].size(); ++k) {
      answer.marginals[v][k] *= to_variable[f][i][k];
    }
  });
  for (auto& marginal : answer.marginals) normalize(marginal);
  return answer;
}

// Random factor graphs. `zeros`: the part of entries that are hard zeros; those of the all-zero
// state never are, so that the model allows a state.
class RandomGraphs {
 public:
  explicit RandomGraphs(unsigned seed) : random_(seed) {}

  std::int32_t below(std::int64_t limit) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  double uniform() { return std::uniform_real_distribution<double>()(random_); }

  void add(data::FactorGraph& graph, std::vector<std::int32_t> scope, double strength,
           double zeros = 0) {
    std::sort(scope.begin(), scope.end());
    std::int64_t size = 1;
    for (const std::int32_t v : scope) size *= graph.cards[static_cast<std::size_t>(v)];
    std::vector<std::int32_t> places;
    std::vector<double> values;
    for (std::int32_t i = 0; i < size; ++i) {
      if (i > 0 && uniform() < zeros) continue;
      places.push_back(i);
      values.push_back(std::exp(strength * (2 * uniform() - 1)));
    }
    graph.add(scope, places, values);
  }
  // A tree of factors of two to `arity` variables, and a factor for each variable.
  data::FactorGraph tree(std::int32_t variables, std::int32_t most_card, std::int32_t arity,
                         double strength, double zeros = 0) {
    data::FactorGraph graph;
    for (std::int32_t v = 0; v < variables; ++v) graph.cards.push_back(1 + below(most_card));
    for (std::int32_t v = 0; v < variables; ++v) add(graph, {v}, strength);
    for (std::int32_t v = 1; v < variables;) {
      std::vector<std::int32_t> scope = {below(v)};
      const std::int32_t more = 1 + below(arity - 1);
      for (std::int32_t i = 0; i < more && v < variables; ++i) scope.push_back(v++);
      add(graph, scope, strength, zeros);
    }
    return graph;
  }
  data::FactorGraph grid(std::int32_t side, std::int32_t card, double strength) {
    data::FactorGraph graph;
    graph.cards.assign(static_cast<std::size_t>(side * side), card);
    for (std::int32_t v = 0; v < side * side; ++v) {
      add(graph, {v}, strength);
      if (v % side + 1 < side) add(graph, {v, v + 1}, strength);
      if (v + side < side * side) add(graph, {v, v + side}, strength);
    }
    return graph;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace meanwhile::test
