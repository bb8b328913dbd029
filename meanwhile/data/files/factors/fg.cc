// libDAI's factor graphs: the number of factors, then for each its arity, its variables, their
// cards, the number of entries that are not zero, and these: place and value. '#' begins a comment.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/factors/reader.h"
#include "meanwhile/data/files/factors/table_order.h"
#include "meanwhile/data/files/factors/word_text.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

namespace {

constexpr std::int64_t kMostFgFactors = std::int64_t{1} << 40;
constexpr std::int64_t kMostArity = 4096;
// Numbers of variables may have gaps, but a short file does not take much memory by a large number.
constexpr std::int64_t kFreeVariables = 1 << 20;

struct FgFactor {
  std::vector<std::int32_t> scope;
  std::int64_t size = 1;  // of its table
};

// The scope of a factor. Cards of variables that were not seen before go to `graph`, where 0 stands
// for unknown.
FgFactor read_fg_scope(WordText& text, FactorGraph& graph, std::int64_t number) {
  FgFactor factor;
  const std::int64_t arity = text.whole_number("the arity of a factor", 0, kMostArity);
  const std::int64_t most =
      std::min(kMostVariables, std::max(kFreeVariables, 64 * text.bytes())) - 1;
  for (std::int64_t i = 0; i < arity; ++i) {
    factor.scope.push_back(static_cast<std::int32_t>(text.whole_number("a variable", 0, most)));
  }
  for (const std::int32_t variable : factor.scope) {
    const auto v = static_cast<std::size_t>(variable);
    const auto card = static_cast<std::int32_t>(
        text.whole_number("the number of states of a variable", 1, kMostTableEntries));
    if (v >= graph.cards.size()) graph.cards.resize(v + 1, 0);
    if (graph.cards[v] != 0 && graph.cards[v] != card) {
      text.fail(fmt::format("variable {} has {} states, and {} in a factor before", variable, card,
                            graph.cards[v]));
    }
    graph.cards[v] = card;
    factor.size *= card;
    if (factor.size > kMostTableEntries) {
      text.fail(
          fmt::format("factor {} has a table of more than {} entries; that is the most this "
                      "program takes",
                      number, kMostTableEntries));
    }
  }
  return factor;
}

}  // namespace

FactorGraph read_fg(const std::filesystem::path& path) {
  WordText text(path, true);
  FactorGraph graph;
  const std::int64_t factors = text.whole_number("the number of factors", 0, kMostFgFactors);
  std::vector<std::int32_t> places, order_of;
  std::vector<double> values;
  for (std::int64_t f = 0; f < factors; ++f) {
    const FgFactor factor = read_fg_scope(text, graph, f);
    const auto order = TableOrder::of(factor.scope, graph.cards, true);
    if (!order) text.fail(fmt::format("factor {} has a variable twice", f));
    const std::int64_t stored = text.whole_number("the number of entries", 0, factor.size);
    places.clear();
    values.clear();
    for (std::int64_t i = 0; i < stored; ++i) {
      const std::int64_t place = text.whole_number("the place of an entry", 0, factor.size - 1);
      const double value = text.weight("an entry of a table");
      if (value == 0) continue;
      places.push_back(order->canonical(place));
      values.push_back(value);
    }
    order_of.resize(places.size());
    std::iota(order_of.begin(), order_of.end(), 0);
    std::sort(order_of.begin(), order_of.end(), [&](std::int32_t a, std::int32_t b) {
      return places[static_cast<std::size_t>(a)] < places[static_cast<std::size_t>(b)];
    });
    std::vector<std::int32_t> sorted_places;
    std::vector<double> sorted_values;
    for (const std::int32_t i : order_of) {
      sorted_places.push_back(places[static_cast<std::size_t>(i)]);
      sorted_values.push_back(values[static_cast<std::size_t>(i)]);
    }
    if (std::adjacent_find(sorted_places.begin(), sorted_places.end()) != sorted_places.end()) {
      text.fail(fmt::format("factor {} has an entry twice", f));
    }
    graph.add(order->sorted_scope(), sorted_places, sorted_values);
  }
  if (!text.at_end()) {
    text.fail(fmt::format("found {} after the last factor", in_quotes(text.word())));
  }
  // A number that no factor mentions is a variable of one state.
  std::replace(graph.cards.begin(), graph.cards.end(), 0, 1);
  return graph;
}

bool is_factor_name(const std::filesystem::path& path) {
  const std::filesystem::path extension = uncompressed_name(path).extension();
  return extension == ".fg" || extension == ".uai";
}

FactorGraph read_factor_graph(const std::filesystem::path& path) {
  FactorGraph graph = uncompressed_name(path).extension() == ".fg" ? read_fg(path) : read_uai(path);
  try {
    check_sizes(graph);
  } catch (base::Error& e) {
    throw e.in(path.string());
  }
  return graph;
}

}  // namespace meanwhile::data
