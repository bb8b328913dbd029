// The order in which SGD takes ratings, and the ratings of a shard in that order.
//
// Items lie by number of ratings, the most first, ties by number: item at place j of this list is
// in block j mod S where j / S is even, and in block S - 1 - j mod S where it is odd, so that
// blocks have about as many ratings each. A block keeps the order of the list.
//
// A cell is the ratings of a shard in a block. It is taken in tiles, whose users and items stay in
// the cache: `tile` users of the shard by `tile` items of the block, tiles of the first users
// first, then by items. The n ratings of a tile, listed by user, then by number of item, are
// spread: the i-th is taken in place i * stride mod n, where stride is the first number from
// 5 n / 8 on (1 at least) that has no divisor in common with n. So ratings of one user do not
// follow each other, and no step waits for the one before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/large_pages.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/learn/factorize/ratings.h"
#include "meanwhile/learn/factorize/sgd_kernel.h"

namespace meanwhile::learn::factorize {

// Where the items lie. Thread safety: const.
class ItemPlaces {
 public:
  ItemPlaces() = default;
  // `ratings`: of each item. REQUIRES: blocks >= 1.
  ItemPlaces(std::span<const std::int64_t> ratings, int blocks);

  std::size_t items() const { return place_.size(); }
  int blocks() const { return static_cast<int>(first_.size()) - 1; }
  // The places of a block: places are blocks one after another.
  std::size_t first(int block) const { return first_[static_cast<std::size_t>(block)]; }
  std::size_t end(int block) const { return first_[static_cast<std::size_t>(block) + 1]; }
  std::size_t place(std::size_t item) const { return place_[item]; }
  std::size_t item(std::size_t place) const { return item_[place]; }
  int block_of(std::size_t item) const { return static_cast<int>(block_[item]); }

 private:
  std::vector<std::uint32_t> place_, item_, block_;
  std::vector<std::size_t> first_;
};

struct Tile {
  std::size_t user = 0, item = 0;  // the first: user of the shard, place of the item
  std::size_t begin = 0, end = 0;  // ratings
};

// Users and items of a tile, from the users and ratings of a shard: 256, or more where tiles would
// have few ratings. A power of two, 65,536 at most.
std::size_t tile_rows(std::size_t users, std::size_t items, std::size_t ratings);

// How ratings become values: (rating - mean) / scale, rounded to float32.
struct RatingScale {
  double mean = 0, scale = 1;
  float value(float rating) const {
    return static_cast<float>((static_cast<double>(rating) - mean) / scale);
  }
};

// The ratings of a shard in some blocks. 8 bytes a rating, 32 a tile that is not empty.
class SgdCells {
 public:
  SgdCells() = default;
  // Blocks first .. end - 1 of the users in `rows`. `ratings`: of the shard, in all blocks; they
  // decide the size of tiles. Two passes over the rows.
  SgdCells(const Ratings& rows, data::RowRange range, std::size_t ratings, const ItemPlaces& places,
           const RatingScale& scale, int first, int end);

  // REQUIRES: first <= block < end.
  std::span<const Tile> tiles(int block) const;
  std::span<const TileRating> ratings(const Tile& tile) const {
    return std::span(ratings_).subspan(tile.begin, tile.end - tile.begin);
  }

 private:
  int first_ = 0;
  std::vector<Tile> tiles_;
  std::vector<std::size_t> block_end_;  // in tiles_
  base::LargeVector<TileRating> ratings_;
};

}  // namespace meanwhile::learn::factorize
