#include "meanwhile/learn/factorize/ratings.h"

#include <variant>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::factorize {

Ratings::Ratings(const data::Dataset& data) {
  const auto* const rows = std::get_if<data::Sparse<float>>(&data.x);
  const auto named = static_cast<std::int64_t>(data.feature_names.size());
  const bool fits = rows != nullptr && (rows->cols == named || rows->cols == 2 * named);
  if (!fits) {
    throw base::Error(base::ErrorKind::kInput,
                      "factorize learns from ratings of items by users; these rows are none");
  }
  rows_ = *rows;
  items_ = named;
}

std::vector<std::int64_t> first_users(const data::Part& part) {
  std::vector<std::int64_t> first = {0};
  for (const data::Shard& shard : part.shards) first.push_back(first.back() + shard.rows);
  return first;
}

}  // namespace meanwhile::learn::factorize
