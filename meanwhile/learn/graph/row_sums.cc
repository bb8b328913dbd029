// A range of vertices is small enough that a sum of it for each level of the tree stays in the
// cache. Cost: S - 1 additions of such sums, and a store for each vertex of each shard.
#include "meanwhile/learn/graph/row_sums.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "meanwhile/exchange/order.h"

namespace meanwhile::learn::graph {

RowSums::RowSums(std::vector<Shard> shards, const std::vector<Range>& ranges)
    : shards_(std::move(shards)),
      ranges_(ranges),
      depth_(static_cast<std::size_t>(std::bit_width(shards_.size() - 1))) {
  for (const Range& range : ranges) {
    for (const Shard& shard : shards_) {
      first_places_.push_back(places_.size());
      std::size_t begin = 0;
      for (const std::size_t end : shard.group_ends) {
        const std::span<const std::uint32_t> group = shard.vertices.subspan(begin, end - begin);
        const auto place = [&](std::int64_t vertex) {
          return begin + static_cast<std::size_t>(
                             std::lower_bound(group.begin(), group.end(), vertex) - group.begin());
        };
        const Places places{place(range.begin), place(range.end)};
        if (places.begin < places.end) places_.push_back(places);
        begin = end;
      }
    }
  }
  first_places_.push_back(places_.size());
}

struct RowSums::Work {
  const RowSums& rows;
  const std::size_t range;
  const std::span<const double* const> sums;
  const std::size_t stride;

  // The sum over `node` into `out`; sums of subtrees lie behind it.
  void add(exchange::Range node, double* out) const {
    const auto [begin, end] = rows.ranges_[range];
    const auto count = static_cast<std::size_t>(end - begin);
    if (node.size() == 1) {
      std::fill_n(out, count, 0.0);
      return add_leaf(static_cast<std::size_t>(node.begin), begin, out);
    }
    const auto [left, right] = exchange::children(node);
    add(left, out);
    // No sum is -0, so a 0 that is not added changes no bit.
    if (right.size() == 1) return add_leaf(static_cast<std::size_t>(right.begin), begin, out);
    double* const more = out + count;
    add(right, more);
    for (std::size_t i = 0; i < count; ++i) out[i] += more[i];
  }

  void add_leaf(std::size_t shard, std::int64_t begin, double* out) const {
    const std::uint32_t* const vertices = rows.shards_[shard].vertices.data();
    const double* const values = sums[shard];
    const std::size_t at = range * rows.shards_.size() + shard;
    for (std::size_t p = rows.first_places_[at]; p < rows.first_places_[at + 1]; ++p) {
      const Places& places = rows.places_[p];
      for (std::size_t v = places.begin; v < places.end; ++v) {
        out[vertices[v] - begin] += values[v * stride];
      }
    }
  }
};

void RowSums::send(std::size_t range, std::span<const double> values,
                   std::span<double* const> cells) const {
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    const std::uint32_t* const vertices = shards_[s].vertices.data();
    const std::size_t at = range * shards_.size() + s;
    for (std::size_t p = first_places_[at]; p < first_places_[at + 1]; ++p) {
      for (std::size_t v = places_[p].begin; v < places_[p].end; ++v) {
        cells[s][2 * v] = values[vertices[v]];
        cells[s][2 * v + 1] = 0;
      }
    }
  }
}

std::span<const double> RowSums::add(std::size_t range, std::span<const double* const> sums,
                                     std::size_t stride, std::span<double> room) const {
  const Work work{*this, range, sums, stride};
  work.add({0, static_cast<int>(shards_.size())}, room.data());
  return room.first(static_cast<std::size_t>(ranges_[range].end - ranges_[range].begin));
}

}  // namespace meanwhile::learn::graph
