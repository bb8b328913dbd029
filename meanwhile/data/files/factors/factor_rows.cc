#include "meanwhile/data/files/factors/factor_rows.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/error.h"

namespace meanwhile::data {

using base::Error;
using base::ErrorKind;

Dataset factor_rows(const FactorGraph& graph, Consistency consistency) {
  const std::vector<std::int32_t> order = sweep_order(graph, consistency);
  const std::int64_t V = graph.variables(), rows = graph.factors();
  const std::size_t stored = 2 * graph.scopes.size() + graph.values.size();
  base::Buffer<std::int64_t> starts(static_cast<std::size_t>(rows) + 1);
  base::Buffer<std::int32_t> columns(stored);
  base::Buffer<double> values(stored);
  std::size_t at = 0;
  const auto put = [&](std::int64_t column, double value) {
    columns[at] = static_cast<std::int32_t>(column);
    values[at++] = value;
  };
  for (std::int64_t f = 0; f < rows; ++f) {
    for (const std::int32_t v : graph.scope(f)) put(v, graph.cards[static_cast<std::size_t>(v)]);
    for (const std::int32_t v : graph.scope(f)) {
      put(V + v, order[static_cast<std::size_t>(v)] + 1.0);
    }
    const auto entries = graph.entries(f);
    for (std::size_t i = 0; i < entries.places.size(); ++i) {
      put(2 * V + entries.places[i], entries.values[i]);
    }
    starts[static_cast<std::size_t>(f) + 1] = static_cast<std::int64_t>(at);
  }
  Dataset data;
  const auto start_view = own(data, std::move(starts));
  const auto column_view = own(data, std::move(columns));
  const auto value_view = own(data, std::move(values));
  data.x = Sparse<double>{start_view.data(), column_view.data(), value_view.data(), rows,
                          2 * V + kMostTableEntries};
  return data;
}

std::int64_t variables_of(const Sparse<double>& rows) {
  const std::int64_t twice = rows.cols - kMostTableEntries;
  if (twice < 0 || twice % 2 != 0 || twice / 2 > kMostVariables) {
    throw Error(ErrorKind::kInput, "the data is no factor graph: it has {} columns", rows.cols);
  }
  return twice / 2;
}

FactorRow factor_row(const Sparse<double>& rows, std::int64_t row, std::int64_t variables) {
  const auto [columns, values] = rows.row(row);
  const auto V = static_cast<std::int32_t>(variables);
  const auto arity = static_cast<std::size_t>(std::lower_bound(columns.begin(), columns.end(), V) -
                                              columns.begin());
  FactorRow factor;
  factor.variables = columns.first(arity);
  factor.cards = values.first(arity);
  factor.order = values.subspan(arity, arity);
  factor.places = columns.subspan(2 * arity);
  factor.values = values.subspan(2 * arity);
  for (std::size_t i = 0; i < arity; ++i) factor.table_size *= factor.card(i);
  return factor;
}

void check_row(const Sparse<double>& rows, std::int64_t row, std::int64_t variables) {
  const auto bad = [&](const char* what) {
    throw Error(ErrorKind::kInput, "row {} is no factor: {}", row, what);
  };
  const auto [columns, values] = rows.row(row);
  const std::size_t count = columns.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (columns[i] < 0 || columns[i] >= rows.cols) bad("a column is out of range");
    if (i > 0 && columns[i] <= columns[i - 1]) bad("its columns do not ascend");
    if (!(values[i] > 0) || !std::isfinite(values[i])) bad("a value is not positive and finite");
  }
  const std::int64_t V = variables;
  std::size_t arity = 0;
  while (arity < count && columns[arity] < V) ++arity;
  if (count < 2 * arity + 1) bad("it lacks the order of its variables or its table");
  double size = 1;
  for (std::size_t i = 0; i < arity; ++i) {
    const auto whole = [&](double value, double most) {
      return value <= most && value == std::floor(value);
    };
    if (columns[arity + i] != columns[i] + V) bad("the order is not that of its variables");
    if (!whole(values[i], kMostTableEntries)) bad("a variable has no whole number of states");
    if (!whole(values[arity + i], kMostVariables)) bad("the order is no whole number");
    size *= values[i];
    if (size > kMostTableEntries) bad("its table is too large");
  }
  if (columns[2 * arity] < 2 * V) bad("it has columns that are none of its variables'");
  if (columns[count - 1] - 2 * V >= static_cast<std::int64_t>(size)) bad("its table is too long");
}

}  // namespace meanwhile::data
