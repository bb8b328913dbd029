#include "meanwhile/graph/shard.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::graph {

namespace {

// Vertices of groups and those before them: with two numbers each, the first ones fit in the
// smallest cache of a core, the last ones in its largest.
constexpr std::size_t kGroups[] = {1 << 8, 1 << 10, 1 << 12, 1 << 14};
constexpr std::int64_t kMostEdges = std::int64_t{1} << 31;

// How many edges a vertex has, in its row and in those of others.
struct Counts {
  std::uint32_t out = 0, in = 0, loops = 0;
  std::uint32_t met = 0;

  std::uint32_t in_row() const { return out + in; }
  std::uint32_t length() const { return in_row() + loops; }
};

// For each group, the least number of edges that vertices of it and of those before it meet.
std::vector<std::uint32_t> least_met(std::span<const Counts> counts) {
  constexpr std::uint32_t kMost = 1 << 16;
  std::vector<std::size_t> vertices(kMost + 1);
  for (const Counts& count : counts) ++vertices[std::min(count.met, kMost)];
  std::vector<std::uint32_t> least;
  std::size_t taken = 0;
  std::uint32_t met = kMost + 1;
  for (const std::size_t most : kGroups) {
    while (met > 2 && taken + vertices[met - 1] <= most) taken += vertices[--met];
    least.push_back(met);
  }
  least.push_back(0);
  return least;
}

class ShardNumbering {
 public:
  ShardNumbering(const data::Sparse<float>& rows, data::RowRange range, std::int64_t first,
                 std::int64_t vertices)
      : rows_(rows), range_(range), first_(first), vertices_(vertices) {}

  ShardGraph shard(RowOf row_of) {
    list_occurring();
    count(row_of);
    list_groups();
    list_rows(row_of);
    return std::move(shard_);
  }

 private:
  std::size_t other_of(std::int32_t column) const {
    return static_cast<std::size_t>(column < vertices_ ? column : column - vertices_);
  }

  // Vertices that occur get first numbers, which ascend.
  void list_occurring() {
    std::vector<std::uint32_t> number(static_cast<std::size_t>(vertices_));
    std::int64_t edges = 0;
    for (std::int64_t i = range_.begin; i < range_.end; ++i) {
      const auto row = rows_.row(i);
      if (row.columns.empty()) continue;
      edges += std::ssize(row.columns);
      number[static_cast<std::size_t>(first_ + i - range_.begin)] = 1;
      for (const std::int32_t column : row.columns) number[other_of(column)] = 1;
      weighted_ |=
          std::any_of(row.values.begin(), row.values.end(), [](float w) { return w != 1; });
    }
    for (std::size_t v = 0; v < number.size(); ++v) {
      if (number[v] == 0) continue;
      number[v] = static_cast<std::uint32_t>(occurring_.size());
      occurring_.push_back(static_cast<std::uint32_t>(v));
    }
    ends_.reserve(static_cast<std::size_t>(edges));
    for (std::int64_t i = range_.begin; i < range_.end; ++i) {
      for (const std::int32_t column : rows_.row(i).columns) {
        ends_.push_back(number[other_of(column)]);
      }
    }
  }

  // Calls use(owner, other, whether the edge leaves its owner, weight), in the order of edges.
  template <class Use>
  void over_edges(const Use& use) const {
    std::uint32_t owner = 0;
    std::size_t edge = 0;
    for (std::int64_t i = range_.begin; i < range_.end; ++i) {
      const auto row = rows_.row(i);
      if (row.columns.empty()) continue;
      while (occurring_[owner] != first_ + i - range_.begin) ++owner;
      for (std::size_t k = 0; k < row.columns.size(); ++k) {
        use(owner, ends_[edge++], row.columns[k] < vertices_, row.values[k]);
      }
    }
  }

  // As over_edges(), but for loops: with the vertex whose row has the edge first.
  template <class Use>
  void over_rows(RowOf row_of, const Use& use) const {
    over_edges([&](std::uint32_t owner, std::uint32_t other, bool leaves, float weight) {
      if (owner == other) return;
      if (row_of == RowOf::kFewerEdges && edges_at_[other] < edges_at_[owner]) {
        // Edges without direction leave.
        return use(other, owner, rows_.cols == vertices_ || !leaves, weight);
      }
      use(owner, other, leaves, weight);
    });
  }

  void count(RowOf row_of) {
    counts_.resize(occurring_.size());
    edges_at_.resize(occurring_.size());
    over_edges([&](std::uint32_t owner, std::uint32_t other, bool, float) {
      ++edges_at_[owner];
      ++edges_at_[other];
      if (owner == other) counts_[owner].loops = 1;
    });
    over_rows(row_of, [&](std::uint32_t vertex, std::uint32_t other, bool leaves, float) {
      ++(leaves ? counts_[vertex].out : counts_[vertex].in);
      ++counts_[other].met;
    });
  }

  void list_groups() {
    const std::vector<std::uint32_t> least = least_met(counts_);
    std::vector<std::vector<std::uint32_t>> groups(least.size());
    for (std::size_t v = 0; v < counts_.size(); ++v) {
      std::size_t group = 0;
      while (counts_[v].met < least[group]) ++group;
      groups[group].push_back(static_cast<std::uint32_t>(v));
    }
    number_.resize(occurring_.size());
    shard_.vertices.reserve(occurring_.size());
    for (const std::vector<std::uint32_t>& group : groups) {
      for (const std::uint32_t v : group) {
        number_[v] = static_cast<std::uint32_t>(shard_.vertices.size());
        shard_.vertices.push_back(occurring_[v]);
      }
      shard_.group_ends.push_back(shard_.vertices.size());
    }
  }

  // Short rows come first: loops over them end where the processor expects it.
  void list_rows(RowOf row_of) {
    std::vector<std::uint32_t> order;
    for (std::size_t v = 0; v < counts_.size(); ++v) {
      if (counts_[v].in_row() > 0) order.push_back(static_cast<std::uint32_t>(v));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return counts_[a].length() < counts_[b].length();
    });
    std::uint32_t end = 0;
    for (const std::uint32_t v : order) {
      Counts& count = counts_[v];
      const std::uint32_t out_end = end + count.out, in_end = out_end + count.in;
      shard_.rows.push_back({number_[v], out_end, in_end});
      // Where the next edge of each kind goes.
      count.out = end;
      count.in = out_end;
      end = in_end;
    }
    shard_.others.resize(end);
    if (weighted_) shard_.weights.resize(end);
    over_rows(row_of, [&](std::uint32_t vertex, std::uint32_t other, bool leaves, float weight) {
      const std::uint32_t at = leaves ? counts_[vertex].out++ : counts_[vertex].in++;
      shard_.others[at] = number_[other];
      if (weighted_) shard_.weights[at] = weight;
    });
    over_edges([&](std::uint32_t owner, std::uint32_t other, bool, float weight) {
      if (owner == other) shard_.loops.push_back({number_[owner], weight});
    });
  }

  const data::Sparse<float>& rows_;
  const data::RowRange range_;
  const std::int64_t first_, vertices_;
  bool weighted_ = false;
  std::vector<std::uint32_t> occurring_;  // vertices of the graph, by their first number
  std::vector<std::uint32_t> ends_;       // of edges, the ends that do not own them
  std::vector<std::uint32_t> edges_at_;   // by first number
  std::vector<Counts> counts_;            // by first number
  std::vector<std::uint32_t> number_;     // by first number
  ShardGraph shard_;
};

}  // namespace

ShardGraph shard_graph(const data::Sparse<float>& rows, data::RowRange range, std::int64_t first,
                       std::int64_t vertices, RowOf row_of) {
  const std::int64_t edges = rows.row_start[range.end] - rows.row_start[range.begin];
  if (edges >= kMostEdges) {
    throw base::Error(base::ErrorKind::kInput, "a shard has {} edges; use more `shards`", edges);
  }
  return ShardNumbering(rows, range, first, vertices).shard(row_of);
}

}  // namespace meanwhile::graph
