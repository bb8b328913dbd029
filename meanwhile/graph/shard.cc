#include "meanwhile/graph/shard.h"

#include <algorithm>

#include "meanwhile/base/error.h"

namespace meanwhile::graph {

namespace {

constexpr std::uint32_t kOccurs = 1u << 31;  // beside a count
// Vertices of groups and those before them: with two numbers each, the first ones fit in the
// smallest cache of a core, the last ones in its largest.
constexpr std::size_t kGroups[] = {1 << 8, 1 << 10, 1 << 12, 1 << 14};

// For each group, the least count that it and those before it can have.
std::vector<std::uint32_t> least_counts(std::span<const std::uint32_t> counts) {
  constexpr std::uint32_t kMost = 1 << 16;
  std::vector<std::size_t> vertices(kMost + 1);
  for (const std::uint32_t count : counts) ++vertices[std::min(count & ~kOccurs, kMost)];
  std::vector<std::uint32_t> least;
  std::size_t taken = 0;
  std::uint32_t count = kMost + 1;
  for (const std::size_t most : kGroups) {
    while (count > 2 && taken + vertices[count - 1] <= most) taken += vertices[--count];
    least.push_back(kOccurs | count);
  }
  least.push_back(kOccurs);
  return least;
}

// `number`: how many edges meet each vertex, and kOccurs.
void list_vertices(std::span<const std::uint32_t> number, ShardGraph& shard) {
  const std::vector<std::uint32_t> least = least_counts(number);
  std::vector<std::vector<std::uint32_t>> groups(least.size());
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] < kOccurs) continue;
    std::size_t group = least.size() - 1;
    while (group > 0 && number[v] >= least[group - 1]) --group;
    groups[group].push_back(static_cast<std::uint32_t>(v));
  }
  for (const std::vector<std::uint32_t>& group : groups) {
    shard.vertices.insert(shard.vertices.end(), group.begin(), group.end());
    shard.group_ends.push_back(shard.vertices.size());
  }
}

// Rows that are not empty, short ones first: loops over them end where the processor expects it.
std::vector<std::int64_t> by_length(const data::Sparse<float>& rows, data::RowRange range) {
  const auto length = [&](std::int64_t i) { return rows.row_start[i + 1] - rows.row_start[i]; };
  std::vector<std::int64_t> order;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    if (length(i) > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return length(a) < length(b); });
  return order;
}

}  // namespace

ShardGraph shard_graph(const data::Sparse<float>& rows, data::RowRange range, std::int64_t first,
                       std::int64_t vertices) {
  ShardGraph shard;
  const std::int64_t edges = rows.row_start[range.end] - rows.row_start[range.begin];
  if (edges >= kOccurs) {
    throw base::Error(base::ErrorKind::kInput, "a shard has {} edges; use more `shards`", edges);
  }
  const auto other_of = [vertices](std::int32_t column) {
    return static_cast<std::size_t>(column < vertices ? column : column - vertices);
  };
  // The vertices that occur, and how many edges meet them at their other end.
  std::vector<std::uint32_t> number(static_cast<std::size_t>(vertices));
  bool weighted = false;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const auto row = rows.row(i);
    if (row.columns.empty()) continue;
    number[static_cast<std::size_t>(first + i - range.begin)] |= kOccurs;
    for (const std::int32_t column : row.columns) {
      std::uint32_t& count = number[other_of(column)];
      count = (count + 1) | kOccurs;
    }
    weighted |= std::any_of(row.values.begin(), row.values.end(), [](float w) { return w != 1; });
  }
  list_vertices(number, shard);
  for (std::size_t v = 0; v < shard.vertices.size(); ++v) {
    number[shard.vertices[v]] = static_cast<std::uint32_t>(v);
  }
  shard.others.reserve(static_cast<std::size_t>(edges));
  if (weighted) shard.weights.reserve(static_cast<std::size_t>(edges));
  for (const std::int64_t i : by_length(rows, range)) {
    const auto row = rows.row(i);
    const auto begin = static_cast<std::uint32_t>(shard.others.size());
    ShardGraph::Owner owner;
    const std::int64_t vertex = first + i - range.begin;
    owner.vertex = number[static_cast<std::size_t>(vertex)];
    // Columns ascend, so those of edges that arrive are the last.
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      const std::size_t other = other_of(row.columns[k]);
      if (static_cast<std::int64_t>(other) == vertex) {
        shard.loops.push_back({owner.vertex, row.values[k]});
        continue;
      }
      shard.others.push_back(number[other]);
      if (weighted) shard.weights.push_back(row.values[k]);
      if (row.columns[k] < vertices)
        owner.out_end = static_cast<std::uint32_t>(shard.others.size());
    }
    owner.in_end = static_cast<std::uint32_t>(shard.others.size());
    owner.out_end = std::max(owner.out_end, begin);
    shard.owners.push_back(owner);
  }
  return shard;
}

}  // namespace meanwhile::graph
