// UAI's text format: type, number of variables, their cards, number of factors, a line for the
// scope of each, then a table for each: its size and its entries.
#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/factors/reader.h"
#include "meanwhile/data/files/factors/table_order.h"
#include "meanwhile/data/files/factors/word_text.h"
#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

namespace {

constexpr std::int64_t kMostFactors = std::int64_t{1} << 40;
constexpr std::int64_t kMostStates = kMostTableEntries;

// The entries of a table that its scope asks for. Fails where that is too many.
std::int64_t product(const WordText& text, const FactorGraph& graph,
                     std::span<const std::int32_t> scope) {
  std::int64_t size = 1;
  for (const std::int32_t variable : scope) {
    size *= graph.cards[static_cast<std::size_t>(variable)];
    if (size > kMostTableEntries) {
      text.fail(
          fmt::format("a factor of {} variables has a table of more than {} entries; that is "
                      "the most this program takes",
                      scope.size(), kMostTableEntries));
    }
  }
  return size;
}

}  // namespace

FactorGraph read_uai(const std::filesystem::path& path) {
  WordText text(path);
  const std::string type(text.word());
  if (type != "MARKOV" && type != "BAYES") {
    text.fail(fmt::format("found {}, expected MARKOV or BAYES: this is no UAI model",
                          type.empty() ? "nothing" : in_quotes(type)));
  }
  FactorGraph graph;
  const std::int64_t variables = text.whole_number("the number of variables", 0, kMostVariables);
  for (std::int64_t i = 0; i < variables; ++i) {
    graph.cards.push_back(static_cast<std::int32_t>(
        text.whole_number("the number of states of a variable", 1, kMostStates)));
  }
  const std::int64_t factors = text.whole_number("the number of factors", 0, kMostFactors);
  std::vector<std::int64_t> start = {0};
  std::vector<std::int32_t> scopes;
  for (std::int64_t f = 0; f < factors; ++f) {
    const std::int64_t arity = text.whole_number("the arity of a factor", 0, variables);
    for (std::int64_t i = 0; i < arity; ++i) {
      scopes.push_back(
          static_cast<std::int32_t>(text.whole_number("a variable", 0, variables - 1)));
    }
    start.push_back(static_cast<std::int64_t>(scopes.size()));
    const auto scope = std::span(scopes).subspan(static_cast<std::size_t>(start[start.size() - 2]));
    product(text, graph, scope);
    if (!TableOrder::of(scope, graph.cards, false)) {
      text.fail(fmt::format("factor {} has a variable twice", f));
    }
  }
  std::vector<double> dense;
  std::vector<std::int32_t> places;
  std::vector<double> values;
  for (std::size_t f = 0; f + 1 < start.size(); ++f) {
    const auto scope = std::span(scopes).subspan(static_cast<std::size_t>(start[f]),
                                                 static_cast<std::size_t>(start[f + 1] - start[f]));
    const TableOrder order = *TableOrder::of(scope, graph.cards, false);
    const std::int64_t size = product(text, graph, scope);
    const std::int64_t said = text.whole_number("the size of a table", 0, kMostFactors);
    if (said != size) {
      text.fail(
          fmt::format("the table of factor {} has {} entries, expected {}: the product of the "
                      "states of its variables",
                      f, said, size));
    }
    dense.assign(static_cast<std::size_t>(size), 0);
    for (std::int64_t i = 0; i < size; ++i) {
      dense[static_cast<std::size_t>(order.canonical(i))] = text.weight("an entry of a table");
    }
    places.clear();
    values.clear();
    for (std::size_t i = 0; i < dense.size(); ++i) {
      if (dense[i] == 0) continue;
      places.push_back(static_cast<std::int32_t>(i));
      values.push_back(dense[i]);
    }
    graph.add(order.sorted_scope(), places, values);
  }
  if (!text.at_end()) {
    text.fail(fmt::format("found {} after the last table", in_quotes(text.word())));
  }
  return graph;
}

std::vector<Observation> read_evidence(const std::filesystem::path& path,
                                       const FactorGraph& graph) {
  WordText text(path);
  std::vector<std::int64_t> numbers, lines;
  constexpr std::int64_t kMost = kMostFactors;
  while (!text.at_end()) {
    numbers.push_back(text.whole_number("a number of the evidence", 0, kMost));
    lines.push_back(text.line());
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (count == 0) return {};
  // An odd count of numbers is "n v x ...", an even one "1 n v x ...".
  const bool sampled = count % 2 == 0;
  const std::size_t begin = sampled ? 2 : 1;
  const std::int64_t observed = numbers[begin - 1];
  if (sampled && numbers[0] != 1) {
    text.fail(fmt::format("the file has {} sets of evidence, expected 1", numbers[0]));
  }
  if (count != static_cast<std::int64_t>(begin) + 2 * observed) {
    text.fail(
        fmt::format("found {} numbers, expected {}: the count, and a variable and a state for "
                    "each of {}",
                    count, static_cast<std::int64_t>(begin) + 2 * observed, observed));
  }
  std::vector<Observation> evidence;
  for (std::size_t i = begin; i < numbers.size(); i += 2) {
    const std::int64_t variable = numbers[i], state = numbers[i + 1];
    if (variable >= graph.variables()) {
      text.fail_at(lines[i], fmt::format("there is no variable {}; the model has {}", variable,
                                         graph.variables()));
    }
    const std::int32_t card = graph.cards[static_cast<std::size_t>(variable)];
    if (state >= card) {
      text.fail_at(lines[i + 1],
                   fmt::format("variable {} has no state {}; it has {}", variable, state, card));
    }
    const Observation one{static_cast<std::int32_t>(variable), static_cast<std::int32_t>(state)};
    evidence.push_back(one);
  }
  std::sort(evidence.begin(), evidence.end(), [](const Observation& a, const Observation& b) {
    return a.variable != b.variable ? a.variable < b.variable : a.state < b.state;
  });
  for (std::size_t i = 1; i < evidence.size(); ++i) {
    if (evidence[i].variable != evidence[i - 1].variable) continue;
    if (evidence[i].state == evidence[i - 1].state) continue;
    text.fail(fmt::format("variable {} is observed in states {} and {}", evidence[i].variable,
                          evidence[i - 1].state, evidence[i].state));
  }
  return evidence;
}

}  // namespace meanwhile::data
