// Counts of words and topics in a file: "count_start" [words + 1], and "count_topics" and "counts"
// of as many numbers as its last one says. Those of word w are from count_start[w] to before
// count_start[w + 1], topics ascending; other counts are 0.
#pragma once

#include <cstdint>
#include <span>

#include "meanwhile/data/safetensors.h"

namespace meanwhile::learn::lda::sampled {

inline constexpr char kCountStart[] = "count_start", kCountTopics[] = "count_topics",
                      kCounts[] = "counts";

struct CountLists {
  std::span<const std::int64_t> start;
  std::span<const std::int32_t> topics, counts;
};
// Borrows from the file. THROWS Error(kInput) when it holds no such counts of so many topics.
CountLists read_counts(const data::SafetensorsFile& file, std::int64_t topics);

}  // namespace meanwhile::learn::lda::sampled
