// The one order in which updates are summed, a function of the number of shards alone: the
// left-packed binary tree over shard numbers. Every partial sum, on whatever worker, is the sum of
// a whole subtree, so floating-point sums agree to the last bit whichever worker adds them.
//
//   7 shards:   ((0 1) (2 3)) ((4 5) 6)
#pragma once

#include <bit>
#include <compare>
#include <utility>
#include <vector>

namespace meanwhile::exchange {

// Shards begin .. end - 1. A subtree of the summing tree is such a range.
struct Range {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  auto operator<=>(const Range&) const = default;
};

struct Children {
  Range left, right;
};

// The two parts whose sums are added to give the sum of `node`. REQUIRES: node.size() >= 2.
inline Children children(Range node) {
  const auto size = static_cast<unsigned>(node.size());
  const int middle = node.begin + static_cast<int>(std::bit_floor(size - 1));
  return {{node.begin, middle}, {middle, node.end}};
}

// The children, one of them `node`, of the node above it. REQUIRES: node is a subtree of the tree
// over `shards` shards and not all of it.
inline Children siblings(Range node, int shards) {
  Range above{0, shards};
  for (;;) {
    const Children below = children(above);
    if (below.left == node || below.right == node) return below;
    above = node.begin < below.left.end ? below.left : below.right;
  }
}

// The shards of worker `rank` of `workers`: contiguous, in order of rank, as even as can be. Empty
// for some when there are fewer shards than workers.
inline Range owned(int shards, int rank, int workers) {
  const auto bound = [=](long long r) { return static_cast<int>(r * shards / workers); };
  return {bound(rank), bound(rank + 1LL)};
}

// Where the shards that a worker owns are divided when each of them has a second holder: those
// before may be taken by the worker before it, the others by the worker after it. So a straggler
// has two workers to help it, and shards move along the ranks in both directions. Were all of them
// held by one neighbour, memory would be the same, and one worker without help.
inline int middle(int shards, int rank, int workers) {
  const Range own = owned(shards, rank, workers);
  return own.begin + own.size() / 2;
}

// The shards that worker `rank` holds then: its own, the second half of those of the worker before
// it, the first half of those of the worker after it.
inline Range held(int shards, int rank, int workers) {
  return {rank == 0 ? 0 : middle(shards, rank - 1, workers),
          rank == workers - 1 ? shards : middle(shards, rank + 1, workers)};
}

// The shards of each worker in one exchange: contiguous, in order of rank.
class Division {
 public:
  // owned() says which: what an exchange uses unless workers took shards of each other.
  Division(int shards) : shards_(shards) {}  // NOLINT(google-explicit-constructor)
  // Worker w has shards bounds[w] .. bounds[w + 1] - 1.
  // REQUIRES: one bound more than workers, ascending from 0.
  explicit Division(std::vector<int> bounds) : shards_(bounds.back()), bounds_(std::move(bounds)) {}

  int shards() const { return shards_; }
  Range of(int rank, int workers) const {
    if (bounds_.empty()) return owned(shards_, rank, workers);
    const auto w = static_cast<std::size_t>(rank);
    return {bounds_[w], bounds_[w + 1]};
  }

 private:
  int shards_;
  std::vector<int> bounds_;  // empty: those of owned()
};

// The largest subtrees of the tree over `shards` shards that lie inside `part`, in order; together
// they are `part`. At most 2 log2(shards).
inline std::vector<Range> subtrees(Range part, int shards) {
  std::vector<Range> found;
  std::vector<Range> open;
  if (part.size() > 0) open.push_back({0, shards});
  while (!open.empty()) {
    const Range node = open.back();
    open.pop_back();
    if (node.end <= part.begin || part.end <= node.begin) continue;
    if (part.begin <= node.begin && node.end <= part.end) {
      found.push_back(node);
      continue;
    }
    const auto [left, right] = children(node);
    open.push_back(right);
    open.push_back(left);
  }
  return found;
}

}  // namespace meanwhile::exchange
