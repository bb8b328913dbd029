// The inner loop of a tile: steps of tokens of one word, one after the other. What they are to read
// was found and asked for before (tile.cc).
//
// Cost: a step writes only where the topic changes, so that what the next step reads of the same
// topics need not wait for it. For the same reason acceptance is a branch: chosen by arithmetic, a
// topic makes each step wait for the one before, which took a quarter longer on NIPS. Documents of
// few tokens have no table of counts; their topics are counted anew by vectors, in the memory of
// the topics alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "meanwhile/base/random.h"
#include "meanwhile/learn/lda/sampled/draws.h"

namespace meanwhile::learn::lda::sampled {

// How often a document has a topic, for up to 65,535 topics and tokens of a document, or for more.
struct ShortCount {
  using Number = std::uint16_t;
  std::uint16_t topic, tokens;
};
struct LongCount {
  using Number = std::uint32_t;
  std::uint32_t topic, tokens;
};
inline constexpr std::size_t kMostShortCount = 65535;

template <class Count>
inline constexpr auto kEmptyPlace = std::numeric_limits<typename Count::Number>::max();

struct TopicChange {
  std::uint32_t word, from, to;
  bool operator==(const TopicChange&) const = default;
};

// Topics are counted kScanned at a time. REQUIRES of a document without a table: as many topics can
// be read from its first one on, in a whole number of such stretches.
inline constexpr std::uint32_t kScanned = 128, kMostScanned = 256;

// A document of a tile.
template <class Count>
struct TileDocument {
  Count* counts = nullptr;   // its table; none: its tokens are counted
  std::uint64_t spread = 0;  // topic * spread >> 32 is its first place, under the mask
  std::uint32_t mask = 0, at = 0, tokens = 0;
  Share share;
  Count* place(std::uint32_t topic) const {
    return counts + (static_cast<std::uint32_t>(topic * spread >> 32) & mask);
  }
  // The place of the topic, or the free one that it would take.
  Count* find(std::uint32_t topic) const {
    Count* found = place(topic);
    while (found->topic != topic && found->topic != kEmptyPlace<Count>) {
      found = counts + (static_cast<std::uint32_t>(found + 1 - counts) & mask);
    }
    return found;
  }
};

// A step of a token. Proposals are read when it is their turn: steps before may change them.
template <class Topic, class Count>
struct TileStep {
  const TileDocument<Count>* document;
  const Topic *by_document, *by_word;
  std::uint32_t at, word;
  base::PhiloxBlock bits;
};

struct Weight {
  double now, before;  // count + eta
};

// Borrowed from a tile; by topic, but `topics`: by token.
template <class Topic>
struct StepView {
  Topic* topics;
  Weight* weights;  // of the word
  double* totals;   // tokens + words x eta
  const double* alpha;
  double own;  // what a token counts for in weights
};

// Takes steps of one word. Writes what changed to `changes`, which has room for all; returns how
// many did.
std::size_t take_steps(std::span<const TileStep<std::uint16_t, ShortCount>> steps,
                       const StepView<std::uint16_t>& view, TopicChange* changes);
std::size_t take_steps(std::span<const TileStep<std::uint16_t, LongCount>> steps,
                       const StepView<std::uint16_t>& view, TopicChange* changes);
std::size_t take_steps(std::span<const TileStep<std::uint32_t, LongCount>> steps,
                       const StepView<std::uint32_t>& view, TopicChange* changes);

}  // namespace meanwhile::learn::lda::sampled
