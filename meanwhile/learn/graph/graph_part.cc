#include "meanwhile/learn/graph/graph_part.h"

#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/graph/shard.h"

namespace meanwhile::learn::graph {

GraphPart graph_part(const data::Part& part, const std::string& learner) {
  const auto* const rows = std::get_if<data::Sparse<float>>(&part.data.x);
  GraphPart found;
  found.vertices = part.rows;
  const bool fits = rows != nullptr && (rows->cols == part.rows || rows->cols == 2 * part.rows);
  if (!fits) throw base::Error(base::ErrorKind::kInput, "{}: the data is no graph", learner);
  found.directed = rows->cols != part.rows;
  std::int64_t first = 0;
  for (const data::Shard& shard : part.shards) {
    found.first_vertex.push_back(first);
    first += shard.rows;
  }
  return found;
}

bool has_numbers(const data::Part& part) { return part.labelled && part.data.class_names.empty(); }

void add_numbers(const data::Part& part, int shard, std::int64_t first,
                 std::span<std::int64_t> ids) {
  const data::RowRange rows =
      meanwhile::graph::rows_of(part.shards[static_cast<std::size_t>(shard)]);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    ids[static_cast<std::size_t>(first + i - rows.begin)] =
        static_cast<std::int64_t>(part.data.labels[static_cast<std::size_t>(i)]);
  }
}

VertexIds ids_of(const data::Part& part, const exchange::Update& total, int block) {
  if (has_numbers(part)) {
    const auto ids = total.dense<std::int64_t>(block);
    return VertexIds::of_numbers({ids.begin(), ids.end()});
  }
  if (part.labelled) return VertexIds::of_words(part.data.class_names);
  return VertexIds(part.rows);
}

}  // namespace meanwhile::learn::graph
