#include "meanwhile/learn/factorize/top_items.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "meanwhile/learn/factorize/als_kernel.h"

namespace meanwhile::learn::factorize {

Matched match(const Trained& trained, const RatingList& list) {
  const auto numbers = [](const Names& names, const std::vector<std::string>& wanted) {
    const NameIndex index(names);
    std::vector<std::int64_t> found;
    found.reserve(wanted.size());
    for (const std::string& name : wanted) found.push_back(index.find(name).value_or(-1));
    return found;
  };
  return {numbers(trained.user_names, list.users), numbers(trained.item_names, list.items)};
}

Rated rated_in(const Trained& trained, const RatingList& list) {
  const Matched matched = match(trained, list);
  Rated rated(static_cast<std::size_t>(trained.users()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t user = matched.users[list.user[i]], item = matched.items[list.item[i]];
    if (user < 0 || item < 0) continue;
    rated[static_cast<std::size_t>(user)].push_back(static_cast<std::int32_t>(item));
  }
  for (auto& items : rated) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
  }
  return rated;
}

TopItems::TopItems(const Trained& trained)
    : trained_(trained),
      width_(row_width(trained.n_factors)),
      table_(static_cast<std::size_t>(trained.items()) * width_),
      all_(static_cast<std::size_t>(trained.items())) {
  for (std::int64_t i = 0; i < trained.items(); ++i) {
    const auto from = trained.item(i);
    std::copy(from.begin(), from.end(),
              table_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * width_));
  }
  std::iota(all_.begin(), all_.end(), 0);
}

std::span<const std::int32_t> TopItems::top(std::int64_t user, std::span<const std::int32_t> rated,
                                            std::int64_t count, Scratch& scratch) const {
  const std::size_t items = all_.size();
  scratch.user.assign(width_, 0);
  const auto from = trained_.user(user);
  std::copy(from.begin(), from.end(), scratch.user.begin());
  scratch.scores.resize(items + 4);
  multiply({table_.data(), all_.data(), items, width_}, scratch.user.data(), scratch.scores.data());
  if (trained_.biased) {
    for (std::size_t i = 0; i < items; ++i) scratch.scores[i] += trained_.item_biases[i];
  }
  scratch.order.clear();
  auto skip = rated.begin();
  for (const std::int32_t item : all_) {
    while (skip != rated.end() && *skip < item) ++skip;
    if (skip == rated.end() || *skip != item) scratch.order.push_back(item);
  }
  const auto size = static_cast<std::int64_t>(scratch.order.size());
  const auto end = scratch.order.begin() + std::min(count, size);
  std::partial_sort(scratch.order.begin(), end, scratch.order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const float sa = scratch.scores[static_cast<std::size_t>(a)];
                      const float sb = scratch.scores[static_cast<std::size_t>(b)];
                      return sa != sb ? sa > sb : a < b;
                    });
  return {scratch.order.begin(), end};
}

}  // namespace meanwhile::learn::factorize
