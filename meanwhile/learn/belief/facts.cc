#include "meanwhile/learn/belief/facts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/belief/shard_factors.h"

namespace meanwhile::learn::belief {

using base::Error;
using base::ErrorKind;

namespace {

// Columns of the blocks of facts.
enum Least { kCard, kMinusCard, kOrder, kMinusOrder, kLeasts };
enum Added { kDegree, kFieldBound, kFieldZeros, kAdded };
enum Counted { kNoPairs, kZeroTables, kMessageCount, kFactorCount, kCounted };

// The largest difference of logarithms in a field, rounded up.
std::int64_t field_bound(const data::FactorRow& factor) {
  const auto [low, high] = std::minmax_element(factor.values.begin(), factor.values.end());
  return static_cast<std::int64_t>(std::ceil(log_of(*high) - log_of(*low) + 1e-6));
}

}  // namespace

exchange::UpdateShape facts_shape(std::int64_t variables) {
  using exchange::Element;
  return {{.rows = variables,
           .width = kLeasts,
           .element = Element::kInt64,
           .combine = exchange::Combine::kMin},
          {.rows = variables, .width = kAdded, .element = Element::kInt64},
          {.rows = kCounted, .element = Element::kInt64}};
}

void add_facts(const data::Sparse<double>& rows, data::RowRange range, std::int64_t variables,
               exchange::Update& update) {
  const auto counted = update.dense<std::int64_t>(2);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const data::FactorRow factor = data::factor_row(rows, i, variables);
    const bool full = std::ssize(factor.values) == factor.table_size;
    bool pair = factor.arity() == 2 && full;
    for (std::size_t k = 0; k < factor.arity(); ++k) {
      const auto least = update.touch<std::int64_t>(0, factor.variables[k]);
      const auto added = update.touch<std::int64_t>(1, factor.variables[k]);
      const std::int64_t card = factor.card(k);
      const auto order = static_cast<std::int64_t>(factor.order[k]) - 1;
      least[kCard] = std::min(least[kCard], card);
      least[kMinusCard] = std::min(least[kMinusCard], -card);
      least[kOrder] = std::min(least[kOrder], order);
      least[kMinusOrder] = std::min(least[kMinusOrder], -order);
      pair &= card == 2;
      if (factor.arity() >= 2) {
        ++added[kDegree];
      } else {
        added[kFieldBound] += field_bound(factor);
        added[kFieldZeros] += full ? 0 : 1;
      }
    }
    if (factor.arity() < 2) continue;
    counted[kNoPairs] += pair ? 0 : 1;
    counted[kZeroTables] += full ? 0 : 1;
    counted[kMessageCount] += static_cast<std::int64_t>(factor.arity());
    ++counted[kFactorCount];
  }
}

Facts facts_from(const exchange::Update& total, const Parameters& parameters) {
  const auto least = total.dense<std::int64_t>(0);
  const auto added = total.dense<std::int64_t>(1);
  const auto counted = total.dense<std::int64_t>(2);
  const std::size_t count = least.size() / kLeasts;
  Facts facts;
  facts.messages = counted[kMessageCount];
  facts.factors = counted[kFactorCount];
  facts.zeros = counted[kZeroTables] > 0;
  facts.ratios = counted[kNoPairs] == 0 && !parameters.map;
  facts.clip = parameters.clip;
  std::int64_t bound = 1;
  for (std::size_t v = 0; v < count; ++v) {
    const auto low = least.subspan(v * kLeasts, kLeasts);
    const auto sum = added.subspan(v * kAdded, kAdded);
    if (low[kCard] == std::numeric_limits<std::int64_t>::max()) {
      throw Error(ErrorKind::kInput, "variable {} is in no factor", v);
    }
    if (low[kCard] != -low[kMinusCard] || low[kOrder] != -low[kMinusOrder]) {
      throw Error(ErrorKind::kInput, "factors disagree about the states of variable {}", v);
    }
    facts.cards.push_back(static_cast<std::int32_t>(low[kCard]));
    facts.order.push_back(static_cast<std::int32_t>(low[kOrder]));
    facts.degree.push_back(static_cast<std::int32_t>(sum[kDegree]));
    const bool zeros = sum[kFieldZeros] > 0;
    facts.field_zeros |= zeros;
    if (zeros && sum[kDegree] > 0) {
      facts.zeros = true;
      facts.ratios = false;
    }
    const auto clip = static_cast<std::int64_t>(std::ceil(parameters.clip)) + 1;
    bound = std::max(bound, sum[kFieldBound] + clip * sum[kDegree]);
  }
  if (parameters.exact_messages) {
    // Sums stay below 2^52 units, so that float64 adds them exactly, in any order.
    int bits = 0;
    while (bits < 52 && (std::int64_t{1} << bits) < bound) ++bits;
    facts.grid = std::ldexp(1.0, bits - 52);
  }
  facts.complete();
  return facts;
}

void Facts::complete() {
  const std::size_t count = cards.size();
  start.assign(1, 0);
  std::int32_t last = -1;
  for (std::size_t v = 0; v < count; ++v) {
    start.push_back(start.back() + (is_ratio(v) ? 1 : cards[v]));
    last = std::max(last, order[v]);
  }
  const auto orders = static_cast<std::size_t>(last + 1);
  order_start.assign(orders + 1, 0);
  order_values.assign(orders, 0);
  order_messages.assign(orders, 0);
  for (const std::int32_t place : order) ++order_start[static_cast<std::size_t>(place) + 1];
  for (std::size_t p = 0; p < orders; ++p) order_start[p + 1] += order_start[p];
  std::vector<std::int64_t> next(order_start.begin(), order_start.end() - 1);
  by_order.resize(count);
  position.resize(count);
  for (std::size_t v = 0; v < count; ++v) {
    const auto p = static_cast<std::size_t>(order[v]);
    by_order[static_cast<std::size_t>(next[p]++)] = static_cast<std::int32_t>(v);
    position[v] = order_values[p];
    order_values[p] += start[v + 1] - start[v];
    order_messages[p] += degree[v];
  }
}

}  // namespace meanwhile::learn::belief
