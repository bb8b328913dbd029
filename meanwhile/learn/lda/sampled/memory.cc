// The peak is in the rounds of training, where all threads have a tile; for many topics of few
// documents it is in the score round.
//
// Sizes of what is held follow from the data, but for two: how many pairs of word and topic occur,
// and how many tokens change in a round. Both are fitted to runs on texts and generated corpora of
// 100 to 2,000 topics (doc/lda.md), near the upper end of what they had. A vector that grows leaves
// the memory of its smaller selves to the heap: it counts twice.
#include "meanwhile/learn/lda/sampled/memory.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "meanwhile/learn/lda/coherence.h"
#include "meanwhile/learn/lda/sampled/sampled.h"
#include "meanwhile/learn/lda/sampled/tile_steps.h"

namespace meanwhile::learn::lda::sampled {

namespace {

constexpr double kGrown = 2;          // memory of a vector that grew
constexpr double kSpareLists = 1.25;  // lists of words grew part by part
constexpr double kPairBytes = 40;     // 8 in use, 8 as written; blocks of words are made anew
constexpr double kLastPart = 0.2;     // of all tokens begin in the last round of the first stage
constexpr double kStepsOfFirst = 4;   // of these, in a sweep
constexpr double kPageCounts = 32;    // of 16 bits
constexpr double kHeldPage = 64 + 8;  // bytes: a page and its number
constexpr double kSentAtOnce = 10e6;  // bytes that wait for each of log2(workers) partners

// A long document tells its topics apart: few of its tokens change, and its words have few topics.
double shortness(double tokens, double rows) {
  constexpr double kUsualTokens = 128, kMost = 3;
  return std::min(kMost, kUsualTokens * rows / tokens);
}

// The part of all tokens that a step gives another topic.
double changed_part(double topics, double shortness) {
  const double decades = std::max(0.0, std::log10(topics) - 2);  // behind 100 topics
  return std::min(1.0, 0.27 + 0.28 * std::pow(std::min(1.0, shortness), 0.7) * decades);
}

// Pairs of word and topic that occur. The number of words tells little: most of them are rare.
double held_pairs(double topics, double words, double tokens, double shortness) {
  const double usual =
      3 * std::pow(topics, 0.55) * std::pow(tokens, 0.56) * std::pow(shortness, 0.23);
  return std::min({topics * words, tokens, usual});
}

struct Tokens {
  double tokens, pairs, documents;  // pairs: of document and word
};

// A tile of the first `part` of a shard's tokens.
Tokens tile_of(const Shape& shape, double tokens, double part, double shards) {
  const auto rows = static_cast<double>(shape.rows), stored = static_cast<double>(shape.stored);
  const double most = static_cast<double>(kTileTokens) + tokens / rows;
  const double share = std::min(most, part * tokens / shards) / tokens;
  return {share * tokens, share * stored, share * rows};
}

// Tables of counts of the documents of a tile (Tile::sort()).
double tables_bytes(const Tokens& tile, double steps, double topics) {
  const double length = tile.tokens / tile.documents;
  if (length <= kMostScanned) return 0;
  const auto places = std::bit_ceil(static_cast<std::uint64_t>((1 + steps) * length + 1));
  const bool is_short = topics <= kMostShortCount && length <= kMostShortCount;
  return tile.documents * std::min(static_cast<double>(places), topics) *
         static_cast<double>(is_short ? sizeof(ShortCount) : sizeof(LongCount));
}

double tile_bytes(const Tokens& tile, double steps, double topics) {
  constexpr double kAdded = 4 + 12, kSorted = 12;  // of a pair
  return (kGrown * kAdded + kSorted) * tile.pairs +
         kGrown * sizeof(TileDocument<ShortCount>) * tile.documents +
         tables_bytes(tile, steps, topics);
}

// Changes of a tile: their vector is half again as long as they are.
double changes_bytes(double changes) { return kGrown * 1.5 * sizeof(TopicChange) * changes; }

}  // namespace

Memory memory_of(const Parameters& parameters, const Shape& shape, const Division& division) {
  const auto K = static_cast<double>(parameters.n_topics), V = static_cast<double>(shape.cols);
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, shape.rows));
  const double tokens = std::max(
      1.0, shape.total > 0 ? shape.total : kTokensOfCount * static_cast<double>(shape.stored));
  const double S = division.shards;
  const double mine = std::ceil(S / division.workers);  // shards
  const double threads = std::min<double>(division.threads, mine);
  const double topic_bytes = parameters.n_topics <= kMostShortTopics ? 2 : 4;
  const auto steps = static_cast<double>(parameters.sweeps);
  const double rounds =
      parameters.batch_size == 0
          ? 1
          : std::max(1.0, std::ceil(rows / static_cast<double>(parameters.batch_size)));
  const double is_short = shortness(tokens, rows);
  const double changes = changed_part(K, is_short);  // of a step
  const double changed = changes * steps / rounds;   // of a round

  Memory memory;
  memory.topics = topic_bytes * tokens * mine / S;
  memory.counts =
      kPairBytes * held_pairs(K, V, tokens, is_short) + kSpareLists * topic_bytes * tokens;
  if (parameters.exact) memory.drawn = (sizeof(float) + sizeof(Alias)) * V * K;

  // Updates that are alive at once (exchange/sum.h), and the one that is exchanged.
  const double alive = threads + std::floor(std::log2(mine)) + (division.workers > 1 ? 1 : 0);
  double first_changes = 0;
  if (division.workers == 1) {
    const double tiles = S * std::ceil(tokens / rounds / S / static_cast<double>(kTileTokens));
    const double starts = 4 * (V + 1) * tiles;
    first_changes = 8 * kLastPart * tokens + starts;
    memory.changes = std::max(first_changes, 8 * changed * tokens + starts);
  } else {
    // Frequent words have counts of 32 bits. A change is of two pages at most, which stay with the
    // update from round to round.
    const double pages = (V + std::min(V, tokens / 0x1p16)) * std::ceil(K / kPageCounts);
    const double update = kHeldPage * std::min(pages, 2 * tokens) + pages / 8;
    memory.changes = alive * update + std::log2(division.workers) * std::min(update, kSentAtOnce);
    first_changes = memory.changes;
  }

  const double by_word_and_topic = 4 * V + 64 * K;
  const Tokens first = tile_of(shape, tokens, kLastPart, S);
  memory.first =
      first_changes +
      threads * (tile_bytes(first, kStepsOfFirst, K) + kGrown * sizeof(TopicChange) * first.tokens +
                 changes_bytes(kStepsOfFirst * changes * first.tokens) + by_word_and_topic);
  const Tokens train = tile_of(shape, tokens, 1 / rounds, S);
  memory.tiles = threads * (tile_bytes(train, steps, K) +
                            changes_bytes(changes * steps * train.tokens) + by_word_and_topic);
  const double together = static_cast<double>(CoOccurrence::size(1, kTopWords));
  memory.scores = (alive + 1) * sizeof(double) * together * K;
  return memory;
}

double Sampled::memory_bytes(const Shape& shape, const Division& division) const {
  return memory_of(parameters_, shape, division).bytes();
}

}  // namespace meanwhile::learn::lda::sampled
