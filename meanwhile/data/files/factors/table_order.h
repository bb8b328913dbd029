// The order of entries in a table: from that of a file to the canonical one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace meanwhile::data {

// A scope in the order of its file, and what a step in each of its variables means for the place of
// an entry in the canonical table.
class TableOrder {
 public:
  // Nothing when a variable occurs twice. `first_is_fastest`: libDAI's order; else UAI's.
  // REQUIRES: the product of the cards is at most kMostTableEntries.
  static std::optional<TableOrder> of(std::span<const std::int32_t> scope,
                                      std::span<const std::int32_t> cards, bool first_is_fastest);

  const std::vector<std::int32_t>& sorted_scope() const { return sorted_; }
  // Whether places are the same in both orders.
  bool is_canonical() const { return canonical_; }
  // The canonical place of the entry at `place` in the file's order.
  std::int32_t canonical(std::int64_t place) const {
    if (canonical_) return static_cast<std::int32_t>(place);
    std::int64_t to = 0;
    for (const Digit& digit : digits_) {  // the fastest first
      to += place % digit.card * digit.step;
      place /= digit.card;
    }
    return static_cast<std::int32_t>(to);
  }

 private:
  struct Digit {
    std::int64_t card = 1, step = 1;
  };
  std::vector<std::int32_t> sorted_;
  std::vector<Digit> digits_;
  bool canonical_ = true;
};

}  // namespace meanwhile::data
