#include "meanwhile/cli/commands/inspect_factors.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace meanwhile::cli {

using base::Json;

namespace {

// Sets of variables that factors join.
class Joined {
 public:
  explicit Joined(std::size_t variables) : first_(variables) {
    std::iota(first_.begin(), first_.end(), std::size_t{0});
  }

  // Returns whether the two were joined before.
  bool join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    first_[std::max(a, b)] = std::min(a, b);
    return a == b;
  }

 private:
  std::size_t find(std::size_t v) {
    while (first_[v] != v) v = first_[v] = first_[first_[v]];
    return v;
  }

  std::vector<std::size_t> first_;
};

}  // namespace

Json describe_factors(const data::FactorGraph& graph) {
  const auto variables = static_cast<std::size_t>(graph.variables());
  std::vector<std::int64_t> degree(variables);
  std::map<std::size_t, std::int64_t> by_arity;
  std::int64_t largest = 0, entries = 0, messages = 0;
  std::size_t parts = variables;
  bool loops = false;
  Joined joined(variables);
  for (std::int64_t f = 0; f < graph.factors(); ++f) {
    const auto scope = graph.scope(f);
    ++by_arity[scope.size()];
    largest = std::max(largest, graph.table_size(f));
    entries += graph.table_size(f);
    if (scope.size() < 2) continue;
    messages += 2 * std::ssize(scope);
    for (const std::int32_t v : scope) ++degree[static_cast<std::size_t>(v)];
    for (std::size_t i = 1; i < scope.size(); ++i) {
      const bool before =
          joined.join(static_cast<std::size_t>(scope[0]), static_cast<std::size_t>(scope[i]));
      loops |= before;
      parts -= before ? 0 : 1;
    }
  }
  Json factors = Json::object();
  for (const auto& [arity, count] : by_arity) factors[std::to_string(arity)] = count;
  const auto [least, most] = std::minmax_element(graph.cards.begin(), graph.cards.end());
  Json json = {{"variables", variables}, {"factors", graph.factors()}};
  if (variables > 0) json["states"] = {{"least", *least}, {"most", *most}};
  json["factors_by_variables"] = std::move(factors);
  json["largest_table"] = largest;
  json["entries"] = entries;
  json["hard_zeros"] = entries - std::ssize(graph.values);
  json["messages"] = messages;
  json["most_factors_of_a_variable"] =
      degree.empty() ? 0 : *std::max_element(degree.begin(), degree.end());
  json["parts"] = parts;
  json["loops"] = loops;
  return json;
}

}  // namespace meanwhile::cli
