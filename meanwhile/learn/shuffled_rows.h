// The order in which a stochastic pass takes the rows of a shard: random, yet near in memory.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/data/deal.h"

namespace meanwhile::learn {

// Blocks are shuffled; the rows of kWindow blocks at a time are shuffled among each other. A file
// sorted by label has blocks of one label: mixing several keeps the steps from swinging. A function
// of (seed, shard, round) alone. `Skip`: whether the row at a position in the shard is left out.
template <class Skip>
class ShuffledRows {
 public:
  static constexpr std::size_t kWindow = 16;

  ShuffledRows(const data::Shard& shard, std::uint64_t seed, std::uint32_t round, Skip skip)
      : skip_(std::move(skip)) {
    const base::Random random(seed, base::Purpose::kShuffle,
                              static_cast<std::uint32_t>(shard.index), round);
    state_ = random.bits(0);
    std::int64_t position = 0;
    for (const data::RowRange& block : shard.blocks) {
      blocks_.push_back({block, position});
      position += block.end - block.begin;
    }
    shuffle(blocks_);
  }

  // The next rows, shuffled; none at the end. Valid until the next call.
  std::span<const std::int64_t> next() {
    window_.clear();
    window_begin_ = next_;
    for (std::size_t taken = 0; taken < kWindow && next_ < blocks_.size(); ++taken, ++next_) {
      const auto& [block, position] = blocks_[next_];
      for (std::int64_t row = block.begin; row < block.end; ++row) {
        if (!skip_(position + row - block.begin)) window_.push_back(row);
      }
    }
    shuffle(window_);
    // A window of skipped rows only is no end.
    if (window_.empty() && next_ < blocks_.size()) return next();
    return window_;
  }

  // Calls use(rows) for each block that the rows of the last call are from.
  template <class Use>
  void for_window(Use&& use) const {
    for (std::size_t i = window_begin_; i < next_; ++i) use(blocks_[i].rows);
  }

 private:
  struct Block {
    data::RowRange rows;
    std::int64_t position;  // of its first row in the shard
  };

  // SplitMix64, from a start that Philox drew: a few instructions a row.
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {  // Fisher and Yates
      __extension__ using Wide = unsigned __int128;
      std::swap(items[i - 1], items[static_cast<std::size_t>((Wide{bits()} * i) >> 64)]);
    }
  }

  const Skip skip_;
  std::uint64_t state_ = 0;
  std::vector<Block> blocks_;
  std::size_t window_begin_ = 0, next_ = 0;
  std::vector<std::int64_t> window_;
};

}  // namespace meanwhile::learn
