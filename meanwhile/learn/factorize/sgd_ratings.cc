#include "meanwhile/learn/factorize/sgd_ratings.h"

#include <algorithm>
#include <numeric>

namespace meanwhile::learn::factorize {

namespace {

constexpr std::size_t kTileRows = 256;          // with 32 factors 64 KiB, users and items together
constexpr std::size_t kMostTileRows = 1 << 16;  // numbers in a tile take 16 bits
constexpr std::size_t kTileRatings = 32;        // on average, at least

std::size_t stride_of(std::size_t ratings) {
  std::size_t stride = std::max<std::size_t>(1, ratings * 5 / 8);
  while (std::gcd(stride, ratings) != 1) ++stride;
  return stride;
}

std::size_t tiles_for(std::size_t rows, std::size_t tile) { return (rows + tile - 1) / tile; }

}  // namespace

ItemPlaces::ItemPlaces(std::span<const std::int64_t> ratings, int blocks)
    : place_(ratings.size()),
      item_(ratings.size()),
      block_(ratings.size()),
      first_(static_cast<std::size_t>(blocks) + 1) {
  const auto S = static_cast<std::size_t>(blocks);
  std::vector<std::uint32_t> list(ratings.size());
  std::iota(list.begin(), list.end(), 0U);
  std::stable_sort(list.begin(), list.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return ratings[a] > ratings[b]; });
  for (std::size_t j = 0; j < list.size(); ++j) {
    const std::size_t block = j / S % 2 == 0 ? j % S : S - 1 - j % S;
    block_[list[j]] = static_cast<std::uint32_t>(block);
    ++first_[block + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const std::uint32_t item : list) {
    const std::size_t place = next[block_[item]]++;
    place_[item] = static_cast<std::uint32_t>(place);
    item_[place] = item;
  }
}

std::size_t tile_rows(std::size_t users, std::size_t items, std::size_t ratings) {
  std::size_t tile = kTileRows;
  while (tile < kMostTileRows &&
         tiles_for(users, tile) * tiles_for(items, tile) > ratings / kTileRatings) {
    tile *= 2;
  }
  return tile;
}

SgdCells::SgdCells(const Ratings& rows, data::RowRange range, std::size_t ratings,
                   const ItemPlaces& places, const RatingScale& scale, int first, int end)
    : first_(first) {
  const auto users = static_cast<std::size_t>(range.end - range.begin);
  const std::size_t tile = tile_rows(users, places.items(), ratings);
  const std::size_t user_tiles = tiles_for(users, tile);
  // Tiles of a block are numbered by users, then items; those of the block before it come first.
  std::vector<std::size_t> tiles_before(1), item_tiles;
  for (int b = first; b < end; ++b) {
    item_tiles.push_back(tiles_for(places.end(b) - places.first(b), tile));
    tiles_before.push_back(tiles_before.back() + item_tiles.back() * user_tiles);
  }
  struct At {
    std::size_t tile;
    TileRating rating;
  };
  const auto each = [&](auto&& use) {
    for (std::size_t u = 0; u < users; ++u) {
      const UserRatings of = rows.of(range.begin + static_cast<std::int64_t>(u));
      for (std::size_t k = 0; k < of.items.size(); ++k) {
        const auto item = static_cast<std::size_t>(of.items[k]);
        const int block = places.block_of(item);
        if (block < first || block >= end) continue;
        const auto b = static_cast<std::size_t>(block - first);
        const std::size_t place = places.place(item) - places.first(block);
        use(At{tiles_before[b] + u / tile * item_tiles[b] + place / tile,
               {static_cast<std::uint16_t>(u % tile), static_cast<std::uint16_t>(place % tile),
                scale.value(of.ratings[k])}});
      }
    }
  };
  std::vector<std::size_t> begin(tiles_before.back() + 1);
  each([&](const At& at) { ++begin[at.tile + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  ratings_.resize(begin.back());
  struct Next {
    std::size_t place = 0, stride = 0;
  };
  std::vector<Next> next(tiles_before.back());
  for (std::size_t b = 0; b + 1 < tiles_before.size(); ++b) {
    for (std::size_t t = tiles_before[b]; t < tiles_before[b + 1]; ++t) {
      if (begin[t] == begin[t + 1]) continue;
      const std::size_t i = t - tiles_before[b];
      tiles_.push_back({i / item_tiles[b] * tile,
                        places.first(first + static_cast<int>(b)) + i % item_tiles[b] * tile,
                        begin[t], begin[t + 1]});
      next[t].stride = stride_of(begin[t + 1] - begin[t]);
    }
    block_end_.push_back(tiles_.size());
  }
  each([&](const At& at) {
    const std::size_t count = begin[at.tile + 1] - begin[at.tile];
    Next& to = next[at.tile];
    ratings_[begin[at.tile] + to.place] = at.rating;
    to.place += to.stride;
    if (to.place >= count) to.place -= count;
  });
}

std::span<const Tile> SgdCells::tiles(int block) const {
  const auto b = static_cast<std::size_t>(block - first_);
  const std::size_t begin = b == 0 ? 0 : block_end_[b - 1];
  return std::span(tiles_).subspan(begin, block_end_[b] - begin);
}

}  // namespace meanwhile::learn::factorize
