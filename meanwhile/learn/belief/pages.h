// Values of an update in pages: a sparse block whose rows are pages, so that clearing, adding and
// sending cost the pages that were touched.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "meanwhile/exchange/update.h"

namespace meanwhile::learn::belief {

// The values of a page: a power of two, and no more than there are values.
inline std::int64_t page_width(std::int64_t values, std::int64_t most) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(values, 1));
  return std::min(most, static_cast<std::int64_t>(std::bit_ceil(count)));
}

template <class T>
exchange::Block page_block(std::int64_t values, std::int64_t most) {
  const std::int64_t width = page_width(values, most);
  return {.rows = (values + width - 1) / width,
          .width = width,
          .element = exchange::kElementOf<T>,
          .sparse = true};
}

// Adds to the values of such a block.
template <class T>
class PageSum {
 public:
  PageSum(exchange::Update& update, int block)
      : update_(update),
        block_(block),
        shift_(std::countr_zero(
            static_cast<std::uint64_t>(update.shape()[static_cast<std::size_t>(block)].width))),
        values_(update.dense<T>(block).data()) {}

  void touch_page(std::int64_t page) { update_.touch<T>(block_, page); }
  void add(std::int64_t at, T value) {
    touch_page(at >> shift_);
    values_[at] += value;
  }
  // REQUIRES: its page was touched.
  T* values() { return values_; }

 private:
  exchange::Update& update_;
  const int block_;
  const int shift_;
  T* const values_;
};

}  // namespace meanwhile::learn::belief
