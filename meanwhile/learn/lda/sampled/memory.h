// Memory of a worker that samples topics, from the shape of the data alone.
#pragma once

#include <algorithm>

#include "meanwhile/learn/lda/parameters.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::lda::sampled {

// Tokens that a stored count stands for, where their sum is not known: two in most texts.
inline constexpr double kTokensOfCount = 2;

// Bytes at the peak, by what takes them. Rows are not counted.
struct Memory {
  double topics = 0;  // of tokens: the memory of the worker's shards
  double counts = 0;  // of pairs of word and topic, and the lists that tokens are proposed from
  double drawn = 0;   // weights of words, where they are drawn
  // Besides, at most one of: the last round of the first stage, rounds of training, the last round.
  double first = 0;
  double changes = 0;  // lists of changed tokens, or updates where there are other workers
  double tiles = 0;    // of all threads
  double scores = 0;   // updates, when there are no tiles any more
  double bytes() const {
    return topics + counts + drawn + std::max(first, changes + std::max(tiles, scores));
  }
};

// REQUIRES: at least one worker, thread and shard.
Memory memory_of(const Parameters& parameters, const Shape& shape, const Division& division);

}  // namespace meanwhile::learn::lda::sampled
