#include "meanwhile/data/files/factors/table_order.h"

#include <algorithm>

namespace meanwhile::data {

std::optional<TableOrder> TableOrder::of(std::span<const std::int32_t> scope,
                                         std::span<const std::int32_t> cards,
                                         bool first_is_fastest) {
  TableOrder order;
  order.sorted_.assign(scope.begin(), scope.end());
  std::sort(order.sorted_.begin(), order.sorted_.end());
  if (std::adjacent_find(order.sorted_.begin(), order.sorted_.end()) != order.sorted_.end()) {
    return std::nullopt;
  }
  const auto card = [&](std::int32_t variable) {
    return cards[static_cast<std::size_t>(variable)];
  };
  const auto step = [&](std::int32_t variable) {
    std::int64_t product = 1;
    for (auto at = order.sorted_.rbegin(); *at != variable; ++at) product *= card(*at);
    return product;
  };
  for (const std::int32_t variable : scope) {
    order.digits_.push_back({card(variable), step(variable)});
  }
  if (!first_is_fastest) std::reverse(order.digits_.begin(), order.digits_.end());
  std::int64_t next = 1;
  for (const Digit& digit : order.digits_) {
    order.canonical_ &= digit.step == next || digit.card == 1;
    next *= digit.card;
  }
  return order;
}

}  // namespace meanwhile::data
