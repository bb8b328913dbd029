// Factor graphs as rows of a data set: one sparse float64 row a factor, in the order of the file.
//
//   columns                         value
//   [0, V)                scope     number of states of the variable
//   [V, 2 V)              scope     place of the variable in a sweep (sweep_order), plus 1
//   [2 V, 2 V + 2^24)     table     the entry, in canonical order; absent: a hard zero
//
// So all that is done to rows is done to factor graphs: they are cut into shards, hashed, sent to
// workers and put to stores. The number of columns tells V to a worker that holds no row. A factor
// without variables is a row of one entry. Every variable is in a row at least (with_evidence).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/factors/factor_graph.h"

namespace meanwhile::data {

// REQUIRES: every variable is in a factor. THROWS what sweep_order() does.
Dataset factor_rows(const FactorGraph& graph, Consistency consistency = Consistency::kEdge);

// The number of variables. THROWS Error(kInput) when no factor graph has so many columns.
std::int64_t variables_of(const Sparse<double>& rows);

// A row, read back. `variables`, `cards` and `order` have a value for each variable of the scope.
struct FactorRow {
  std::span<const std::int32_t> variables;
  std::span<const double> cards, order;
  std::span<const std::int32_t> places;  // of entries in the table, plus 2 V
  std::span<const double> values;
  std::int64_t table_size = 1;

  std::size_t arity() const { return variables.size(); }
  std::int32_t card(std::size_t i) const { return static_cast<std::int32_t>(cards[i]); }
};

// REQUIRES: check_row() has passed.
FactorRow factor_row(const Sparse<double>& rows, std::int64_t row, std::int64_t variables);
// THROWS Error(kInput) that names the row when it is no factor: it may come from a damaged store.
void check_row(const Sparse<double>& rows, std::int64_t row, std::int64_t variables);

}  // namespace meanwhile::data
