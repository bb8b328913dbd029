// The sums of a vertex program over one shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "meanwhile/graph/shard.h"

namespace meanwhile::learn::graph {

// Adds, for each vertex v of the shard, gather(sent[u], weight) of the edges u -> v in it to
// sum[v]. `cells`: for each vertex of the shard, `width` numbers that it sends, then as many sums.
// The order of additions is that of the edges.
template <class Program>
class Gathering {
 public:
  Gathering(const Program& program, const meanwhile::graph::ShardGraph& shard, bool directed,
            std::span<double> cells)
      : program_(program),
        shard_(shard),
        directed_(directed),
        width_(static_cast<std::size_t>(program.width())),
        cells_(cells.data()) {}

  void run() const {
    if (width_ != 1) {
      over_wide();
    } else if (shard_.weights.empty()) {
      over_single([](std::size_t) { return 1.0; });
    } else {
      over_single([&](std::size_t k) { return static_cast<double>(shard_.weights[k]); });
    }
    for (const auto& loop : shard_.loops) {
      add(loop.vertex, loop.vertex, static_cast<double>(loop.weight));
    }
  }

 private:
  static constexpr std::size_t kTurns = 4;
  struct Cell {
    double sent, sum;
  };

  template <class Use>
  static void in_turns(std::size_t begin, std::size_t end, const Use& use) {
    for (; begin + kTurns <= end; begin += kTurns) {
      use(begin, 0);
      use(begin + 1, 1);
      use(begin + 2, 2);
      use(begin + 3, 3);
    }
    // Turns are constants, so that sums stay in registers.
    if (begin < end) use(begin, 0);
    if (begin + 1 < end) use(begin + 1, 1);
    if (begin + 2 < end) use(begin + 2, 2);
  }

  // One number a vertex: what a vertex gets from the edges of its row stays in registers, in four
  // sums that take turns, so that an addition need not wait for the one before it.
  template <class Weight>
  void over_single(const Weight& weight) const {
    const std::uint32_t* const others = shard_.others.data();
    auto* const cells = reinterpret_cast<Cell*>(cells_);
    std::size_t k = 0;
    for (const auto& row : shard_.rows) {
      const double mine = cells[row.vertex].sent;
      double arriving[kTurns] = {};
      const std::size_t out_end = row.out_end, in_end = row.in_end;
      if (directed_) {
        for (; k < out_end; ++k) cells[others[k]].sum += program_.gather(mine, weight(k));
        in_turns(k, in_end, [&](std::size_t edge, std::size_t turn) {
          arriving[turn] += program_.gather(cells[others[edge]].sent, weight(edge));
        });
      } else {
        in_turns(k, in_end, [&](std::size_t edge, std::size_t turn) {
          Cell& other = cells[others[edge]];
          arriving[turn] += program_.gather(other.sent, weight(edge));
          other.sum += program_.gather(mine, weight(edge));
        });
      }
      k = in_end;
      cells[row.vertex].sum += (arriving[0] + arriving[1]) + (arriving[2] + arriving[3]);
    }
  }

  void over_wide() const {
    std::size_t k = 0;
    for (const auto& row : shard_.rows) {
      for (; k < row.in_end; ++k) {
        const double weight = shard_.weight(k);
        const bool leaves = !directed_ || k < row.out_end;
        const bool arrives = !directed_ || k >= row.out_end;
        if (arrives) add(shard_.others[k], row.vertex, weight);
        if (leaves) add(row.vertex, shard_.others[k], weight);
      }
    }
  }

  void add(std::size_t from, std::size_t to, double weight) const {
    const double* const sent = cells_ + 2 * from * width_;
    double* const sum = cells_ + (2 * to + 1) * width_;
    for (std::size_t i = 0; i < width_; ++i) sum[i] += program_.gather(sent[i], weight);
  }

  const Program& program_;
  const meanwhile::graph::ShardGraph& shard_;
  const bool directed_;
  const std::size_t width_;
  double* const cells_;
};

}  // namespace meanwhile::learn::graph
