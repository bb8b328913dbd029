// Sums over shards that are all in one place, one number a vertex, without an update for each
// shard: a vertex is in few of the shards, and an update has room for all vertices. The order of
// additions is that of the one tree (exchange/order.h), so the bits are those of an exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::learn::graph {

class RowSums {
 public:
  struct Range {
    std::int64_t begin = 0, end = 0;
  };
  RowSums() = default;
  // The vertices of a shard, in groups that ascend. Borrowed.
  struct Shard {
    std::span<const std::uint32_t> vertices;
    std::span<const std::size_t> group_ends;
  };
  // `ranges`: of vertices, those that add() is asked for.
  RowSums(std::vector<Shard> shards, const std::vector<Range>& ranges);

  bool empty() const { return shards_.empty(); }
  // Room that add() needs, in numbers, for a range of `rows` vertices.
  std::size_t room(std::size_t rows) const { return rows * (depth_ + 1); }
  // The sums of the vertices in range `range`, at the front of `room`. sums[s][v * stride] is what
  // shard s has for its vertex v, and never -0; absent terms count as 0.
  std::span<const double> add(std::size_t range, std::span<const double* const> sums,
                              std::size_t stride, std::span<double> room) const;
  // The way back: shard s gets values[vertex] of the vertices in range `range`, and a 0 behind
  // each, as the next sum. cells[s] holds both of its vertices.
  void send(std::size_t range, std::span<const double> values,
            std::span<double* const> cells) const;

 private:
  struct Work;

  // Vertices of a range that follow each other among those of a shard.
  struct Places {
    std::size_t begin = 0, end = 0;
  };

  std::vector<Shard> shards_;
  std::vector<Range> ranges_;
  std::vector<Places> places_;             // by range and shard
  std::vector<std::size_t> first_places_;  // of each range and shard, and the end
  std::size_t depth_ = 0;                  // of the tree
};

}  // namespace meanwhile::learn::graph
