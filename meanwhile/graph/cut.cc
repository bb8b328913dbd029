#include "meanwhile/graph/cut.h"

#include <algorithm>
#include <variant>

namespace meanwhile::graph {

std::vector<data::Shard> cut(std::span<const std::int64_t> row_start, int shards) {
  const auto rows = static_cast<std::int64_t>(row_start.size()) - 1;
  const std::int64_t edges = row_start.back();
  std::vector<data::Shard> cut(static_cast<std::size_t>(shards));
  std::int64_t begin = 0;
  for (int s = 0; s < shards; ++s) {
    // The rows whose first edge lies in the s-th of equal stretches of edges. Without edges, rows
    // are all that can be divided.
    std::int64_t end = rows;
    if (s + 1 < shards) {
      const auto share = [&](std::int64_t all) {
        return static_cast<std::int64_t>(static_cast<__int128>(all) * (s + 1) / shards);
      };
      end = edges == 0 ? share(rows)
                       : std::lower_bound(row_start.begin() + begin, row_start.begin() + rows,
                                          share(edges)) -
                             row_start.begin();
    }
    data::Shard& shard = cut[static_cast<std::size_t>(s)];
    shard.index = s;
    shard.rows = end - begin;
    if (begin < end) shard.blocks = {{begin, end}};
    begin = end;
  }
  return cut;
}

CutFacts count_copies(const data::Sparse<float>& rows, const std::vector<data::Shard>& shards) {
  CutFacts facts;
  std::vector<std::int32_t> last(static_cast<std::size_t>(rows.rows), -1);  // shard seen last
  std::vector<bool> has_edges(static_cast<std::size_t>(rows.rows));
  std::int64_t copies = 0;
  std::vector<std::int64_t> first_row = {0};  // of shards, and the end
  for (const data::Shard& shard : shards) {
    first_row.push_back(shard.blocks.empty() ? first_row.back() : shard.blocks.back().end);
  }
  std::vector<std::int64_t> elsewhere(shards.size());  // mirrors that others have of a shard's own
  for (const data::Shard& shard : shards) {
    std::int64_t edges = 0, mirrors = 0;
    const auto see = [&](std::int64_t vertex) {
      std::int32_t& seen = last[static_cast<std::size_t>(vertex)];
      has_edges[static_cast<std::size_t>(vertex)] = true;
      if (seen == shard.index) return;
      ++copies;
      seen = shard.index;
      const auto owner =
          std::upper_bound(first_row.begin(), first_row.end() - 1, vertex) - first_row.begin() - 1;
      if (owner == shard.index) return;
      ++mirrors;
      ++elsewhere[static_cast<std::size_t>(owner)];
    };
    for (const data::RowRange& range : shard.blocks) {
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const auto columns = rows.row(i).columns;
        edges += static_cast<std::int64_t>(columns.size());
        if (!columns.empty()) see(i);
        for (const std::int32_t j : columns) see(j < rows.rows ? j : j - rows.rows);
      }
    }
    facts.most_edges = std::max(facts.most_edges, edges);
    facts.most_mirrors = std::max(facts.most_mirrors, mirrors);
  }
  for (const std::int64_t mirrors : elsewhere) {
    facts.most_mirrors = std::max(facts.most_mirrors, mirrors);
  }
  const auto vertices = std::count(has_edges.begin(), has_edges.end(), true);
  if (vertices > 0) facts.copies = static_cast<double>(copies) / static_cast<double>(vertices);
  facts.mirrors = copies - vertices;
  return facts;
}

data::Spread vertex_spread(const data::Matrix& x, std::span<const data::RowRange> of_workers) {
  const auto* const rows = std::get_if<data::Sparse<float>>(&x);
  if (rows == nullptr || rows->rows == 0) return {};
  if (rows->cols != rows->rows && rows->cols != 2 * rows->rows) return {};
  std::vector<data::Shard> parts;
  for (const data::RowRange& range : of_workers) {
    data::Shard& part = parts.emplace_back();
    part.index = static_cast<int>(parts.size()) - 1;
    if (range.begin < range.end) part.blocks = {range};
  }
  const CutFacts facts = count_copies(*rows, parts);
  const auto all = static_cast<double>(rows->rows);
  return {1 + static_cast<double>(facts.mirrors) / all,
          static_cast<double>(facts.most_mirrors) / all};
}

std::vector<std::pair<int, data::Spread>> spread_by_workers(const data::Matrix& x,
                                                            const SpreadOf& spread) {
  const auto starts = std::visit(
      [](const auto& rows) -> std::span<const std::int64_t> {
        if constexpr (requires { rows.row_start; }) {
          return {rows.row_start, static_cast<std::size_t>(rows.rows) + 1};
        }
        return {};
      },
      x);
  std::vector<std::pair<int, data::Spread>> found;
  const auto next = [](int workers) { return workers < 8 ? workers + 1 : 2 * workers; };
  for (int workers = 2; workers <= 64 && !starts.empty(); workers = next(workers)) {
    std::vector<data::RowRange> rows;
    for (const data::Shard& shard : cut(starts, workers)) {
      rows.push_back(shard.blocks.empty() ? data::RowRange{} : shard.blocks.front());
    }
    found.emplace_back(workers, spread(x, rows));
  }
  return found;
}

}  // namespace meanwhile::graph
