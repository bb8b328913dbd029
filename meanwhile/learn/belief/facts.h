// Facts of a factor graph that all workers know before the first message: the sum of what the rows
// of each shard tell, by one round of the exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/data/files/factors/factor_rows.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/belief/parameters.h"

namespace meanwhile::learn::belief {

// A factor of one variable is part of the variable's field; "factors" and "messages" below are
// those of factors of two variables or more.
//
// A variable has a value for each state: the logarithm of its belief. In a model of pairs of binary
// variables without hard zeros (`ratios`), a variable that has factors has one value instead:
// log P(1) / P(0).
struct Facts {
  std::vector<std::int32_t> cards, order, degree;  // of each variable
  std::int64_t messages = 0, factors = 0;
  bool ratios = false;
  bool zeros = false;        // messages may have hard zeros
  bool field_zeros = false;  // fields may
  double clip = 0;
  double grid = 0;  // values are multiples of it, a power of two; 0: of nothing

  // Made from these:
  std::vector<std::int64_t> start;  // values of variable v: [start[v], start[v + 1])
  // Variables in the order of a sweep: those at place p are by_order[order_start[p] ..]. Their
  // values lie one behind another in an update, those of v at position[v].
  std::vector<std::int64_t> order_start, position, order_values, order_messages;
  std::vector<std::int32_t> by_order;

  bool empty() const { return start.empty(); }
  std::int64_t variables() const { return static_cast<std::int64_t>(cards.size()); }
  std::int64_t values() const { return start.back(); }
  std::int64_t orders() const { return static_cast<std::int64_t>(order_values.size()); }
  bool is_ratio(std::size_t variable) const { return ratios && degree[variable] > 0; }
  // To be added and taken away, which rounds to the grid.
  double rounding() const { return 0x1.8p52 * grid; }
  // Fills in what is made from the others.
  void complete();
};

inline double on_grid(double value, double rounding) { return (value + rounding) - rounding; }

exchange::UpdateShape facts_shape(std::int64_t variables);
// Adds the facts of the rows of one shard. REQUIRES: check_row() has passed for each.
void add_facts(const data::Sparse<double>& rows, data::RowRange range, std::int64_t variables,
               exchange::Update& update);
// THROWS Error(kInput) when rows contradict each other, or a variable is in none.
Facts facts_from(const exchange::Update& total, const Parameters& parameters);

}  // namespace meanwhile::learn::belief
