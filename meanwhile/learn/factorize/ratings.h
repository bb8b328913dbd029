// Ratings as sparse rows: row u holds the ratings of user u, column i is item i. Where ratings have
// weights, column items + i holds the weight of the rating in column i.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/part.h"

namespace meanwhile::learn::factorize {

struct UserRatings {
  std::span<const std::int32_t> items;  // ascending
  std::span<const float> ratings;
  std::span<const float> weights;  // empty: all weigh 1
};

// Borrows the matrix.
class Ratings {
 public:
  Ratings() = default;
  // THROWS Error(kInput) when the rows are no ratings: not sparse float32.
  explicit Ratings(const data::Dataset& data);

  std::int64_t users() const { return rows_.rows; }  // whose rows are held
  std::int64_t items() const { return items_; }
  bool weighted() const { return rows_.cols != items_; }
  UserRatings of(std::int64_t row) const {
    const auto all = rows_.row(row);
    if (!weighted()) return {all.columns, all.values, {}};
    const std::size_t count = all.columns.size() / 2;
    return {all.columns.first(count), all.values.first(count), all.values.subspan(count)};
  }

 private:
  data::Sparse<float> rows_;
  std::int64_t items_ = 0;
};

// The first user of each shard, and the number of users behind the last: shards are consecutive
// rows.
std::vector<std::int64_t> first_users(const data::Part& part);

}  // namespace meanwhile::learn::factorize
