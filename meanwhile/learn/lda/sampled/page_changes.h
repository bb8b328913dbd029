// Changes of integer counts as an update that adds exactly: several counts share a 64-bit number,
// in lanes wide enough for all tokens of the word, so a sum of changes never leaves its lane for
// good. Pages of such numbers are the rows of a sparse block: what is cleared, added and sent is
// what changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/lda/sampled/word_topics.h"

namespace meanwhile::learn::lda::sampled {

// Where the counts of words lie. A pure function of how often words occur.
class PageLayout {
 public:
  PageLayout() = default;
  // REQUIRES: no word occurs 2^31 times.
  PageLayout(std::span<const double> word_counts, std::size_t topics);

  exchange::Block block() const;

  // Adds `by` to the count of (word, topic).
  void add(exchange::Update& update, int block, std::size_t word, std::uint32_t topic,
           std::int64_t by) const {
    const Word& at = words_[word];
    const std::int64_t value = topic >> at.lane_shift;
    const std::int64_t page = at.first_page + (value >> page_shift_);
    const unsigned lane = (topic & ((1U << at.lane_shift) - 1)) << (6 - at.lane_shift);
    update.touch<std::int64_t>(
        block, page)[static_cast<std::size_t>(value & ((std::int64_t{1} << page_shift_) - 1))] +=
        by * (std::int64_t{1} << lane);
  }
  // Adds the changes of a word in a total.
  void take(const exchange::Update& total, int block, std::size_t word, RowBuilder& row) const;

 private:
  struct Word {
    std::int64_t first_page = 0;
    std::uint32_t lane_shift = 1;  // counts of a number: 2^lane_shift
  };
  std::size_t topics_ = 0;
  int page_shift_ = 0;
  std::int64_t pages_ = 0;
  std::vector<Word> words_;
};

}  // namespace meanwhile::learn::lda::sampled
