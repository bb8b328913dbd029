#include "meanwhile/learn/lda/sampled/page_changes.h"

#include <algorithm>
#include <bit>

namespace meanwhile::learn::lda::sampled {

namespace {

constexpr std::size_t kPageNumbers = 8;  // a line of the cache
constexpr double kMostShort = 1 << 15;   // tokens of a word whose counts have lanes of 16 bits

}  // namespace

PageLayout::PageLayout(std::span<const double> word_counts, std::size_t topics) : topics_(topics) {
  const std::size_t numbers = (topics + 1) / 2;
  page_shift_ = std::countr_zero(std::min(kPageNumbers, std::bit_ceil(numbers)));
  for (const double count : word_counts) {
    const std::uint32_t shift = count < kMostShort ? 2 : 1;
    words_.push_back({pages_, shift});
    const std::size_t of_word = ((topics - 1) >> shift) + 1;
    pages_ += static_cast<std::int64_t>(((of_word - 1) >> page_shift_) + 1);
  }
}

exchange::Block PageLayout::block() const {
  return {.rows = pages_,
          .width = std::int64_t{1} << page_shift_,
          .element = exchange::Element::kInt64,
          .sparse = true};
}

void PageLayout::take(const exchange::Update& total, int block, std::size_t word,
                      RowBuilder& row) const {
  const Word& at = words_[word];
  const std::int64_t end = word + 1 < words_.size() ? words_[word + 1].first_page : pages_;
  const unsigned lanes = 1U << at.lane_shift, bits = 64 / lanes;
  const std::size_t of_page = (std::size_t{1} << page_shift_) * lanes;
  for (std::int64_t page = at.first_page; page < end; ++page) {
    if (!total.is_touched(block, page)) continue;
    std::size_t topic = static_cast<std::size_t>(page - at.first_page) * of_page;
    for (std::int64_t number : total.row<std::int64_t>(block, page)) {
      for (unsigned lane = 0; lane < lanes; ++lane, ++topic) {
        // The lowest lane with its sign; what it borrowed from the lanes above is given back.
        const auto low =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << (64 - bits)) >>
            (64 - bits);
        number = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) -
                                           static_cast<std::uint64_t>(low)) >>
                 bits;
        if (low != 0 && topic < topics_) row.add(static_cast<std::uint32_t>(topic), low);
      }
    }
  }
}

}  // namespace meanwhile::learn::lda::sampled
