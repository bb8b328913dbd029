// Cells of few bytes that were seen before, and what they meant: words, truth values and dates
// recur, and to look one up costs a tenth of reading it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace meanwhile::data {

// The text of a bare cell with at most kMost bytes, in four words: its bytes, zeros, and its size
// in the last byte. Equal words are equal texts.
struct ShortText {
  static constexpr unsigned kMost = 31;

  std::array<std::uint64_t, 4> words = {};
  // Bytes before the first delimiter, line end or quote; 32 if there is none of them.
  unsigned size = 0;

  // REQUIRES: 32 readable bytes.
  [[gnu::always_inline]] ShortText(const char* p, char delimiter) {
    unsigned stops = stops_in(p, delimiter);
    if (stops == 0) stops = stops_in(p + 16, delimiter) << 16;
    size = stops == 0 ? kMost + 1 : static_cast<unsigned>(std::countr_zero(stops));
    if (size > kMost) return;
    std::memcpy(words.data(), p, sizeof words);
    for (unsigned i = 0; i < 4; ++i) words[i] &= first_bytes(size, 8 * i);
    words[3] |= std::uint64_t{size} << 56;
  }

 private:
  // Bit i is set if p[i] ends a cell.
  static unsigned stops_in(const char* p, char delimiter) {
#if defined(__SSE2__)
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto equal = [text](char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); };
    const __m128i ends = _mm_or_si128(equal(delimiter), equal('\n'));
    const __m128i odd = _mm_or_si128(equal('"'), equal('\r'));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(ends, odd)));
#else
    unsigned stops = 0;
    for (unsigned i = 0; i < 16; ++i) {
      const bool stop = p[i] == delimiter || p[i] == '\n' || p[i] == '"' || p[i] == '\r';
      stops |= unsigned{stop} << i;
    }
    return stops;
#endif
  }
  // A mask of those of the eight bytes from `begin` on that are below `size`.
  static std::uint64_t first_bytes(unsigned size, unsigned begin) {
    if (size <= begin) return 0;
    return size - begin >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * (size - begin))) - 1;
  }
};

// Meanings of short texts as cells. Holds some thousands at most.
template <class T>
class ShortCells {
 public:
  // Null if the text was not seen.
  const T* find(const ShortText& text) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = place_of(text);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (same(slot.words, text.words)) return &slot.value;
      if (slot.words[3] == 0) return nullptr;
    }
  }
  // REQUIRES: the text has 1 to ShortText::kMost bytes, and was not seen.
  void add(const ShortText& text, T value) {
    if (used_ == kMostTexts) return;
    if (2 * (used_ + 1) > slots_.size()) grow();
    put({text.words, value});
    ++used_;
  }
  void clear() {
    if (used_ == 0) return;
    std::fill(slots_.begin(), slots_.end(), Slot{});
    used_ = 0;
  }

 private:
  static constexpr std::size_t kMostTexts = 4096;
  struct Slot {
    std::array<std::uint64_t, 4> words = {};
    T value = 0;
  };

  using Words = std::array<std::uint64_t, 4>;
  // The compiler would call a function for `==`.
  static bool same(const Words& a, const Words& b) {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
  }
  template <class Text>
  std::size_t place_of(const Text& text) const {
    const auto& words = text.words;
    const std::uint64_t hash = (words[0] * 0x9e3779b97f4a7c15u) ^ (words[1] * 0xc2b2ae3d27d4eb4fu) ^
                               (words[2] * 0x165667b19e3779f9u) ^ (words[3] * 0xff51afd7ed558ccdu);
    return static_cast<std::size_t>(hash >> 40) & (slots_.size() - 1);
  }
  void put(const Slot& slot) {
    std::size_t at = place_of(slot);
    while (slots_[at].words[3] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> before(slots_.empty() ? 64 : 2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.words[3] != 0) put(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace meanwhile::data
