#include <algorithm>
#include <utility>
#include <variant>

#include "meanwhile/base/buffer.h"
#include "meanwhile/graph/graph.h"

namespace meanwhile::graph {

data::Dataset filtered(data::Dataset graph, Loops loops, bool weights) {
  const auto& rows = std::get<data::Sparse<float>>(graph.x);
  const auto is_loop = [&](std::int64_t row, std::int32_t column) {
    return column == row || column == rows.rows + row;
  };
  const auto leaves = [&](std::int64_t row, std::int32_t column) {
    return loops == Loops::kDrop && is_loop(row, column);
  };
  bool same = true;
  for (std::int64_t i = 0; i < rows.rows && same; ++i) {
    const auto row = rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      same &= !leaves(i, row.columns[k]) && (weights || row.values[k] == 1);
    }
  }
  if (same) return graph;
  const auto stored = static_cast<std::size_t>(rows.row_start[rows.rows]);
  base::Buffer<std::int64_t> starts(static_cast<std::size_t>(rows.rows) + 1);
  base::Buffer<std::int32_t> columns(stored);
  base::Buffer<float> values(stored);
  std::size_t to = 0;
  starts[0] = 0;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const auto row = rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      if (leaves(i, row.columns[k])) continue;
      columns[to] = row.columns[k];
      values[to++] = weights ? row.values[k] : 1;
    }
    starts[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(to);
  }
  const std::int64_t vertices = rows.rows, width = rows.cols;
  const auto start_view = own(graph, std::move(starts));
  const auto column_view = own(graph, std::move(columns));
  const auto value_view = own(graph, std::move(values));
  graph.x = data::Sparse<float>{start_view.data(), column_view.data(), value_view.data(), vertices,
                                width};
  graph.mapped = false;
  return graph;
}

}  // namespace meanwhile::graph
