#include "meanwhile/learn/factorize/shard_items.h"

namespace meanwhile::learn::factorize {

ShardItems items_of(const Ratings& ratings, data::RowRange rows) {
  std::vector<std::int64_t> next(static_cast<std::size_t>(ratings.items()) + 1);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (const std::int32_t item : ratings.of(row).items) ++next[static_cast<std::size_t>(item)];
  }
  ShardItems by;
  std::int64_t count = 0;
  for (std::size_t item = 0; item + 1 < next.size(); ++item) {
    const std::int64_t here = next[item];
    next[item] = count;
    if (here == 0) continue;
    by.items.push_back(static_cast<std::int32_t>(item));
    by.starts.push_back(count);
    count += here;
  }
  by.starts.push_back(count);
  const auto size = static_cast<std::size_t>(count);
  by.users.resize(size);
  by.ratings.resize(size);
  if (ratings.weighted()) by.weights.resize(size);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const UserRatings of = ratings.of(row);
    for (std::size_t k = 0; k < of.items.size(); ++k) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(of.items[k])]++);
      by.users[at] = static_cast<std::int32_t>(row - rows.begin);
      by.ratings[at] = of.ratings[k];
      if (!of.weights.empty()) by.weights[at] = of.weights[k];
    }
  }
  return by;
}

}  // namespace meanwhile::learn::factorize
