// Lists of the best items for users.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/factorize/ratings_input.h"
#include "meanwhile/learn/factorize/trained.h"

namespace meanwhile::learn::factorize {

// Which items users have rated. By user of the model; ascending.
using Rated = std::vector<std::vector<std::int32_t>>;

// Numbers of the model for the names of a list; -1 where it has none.
struct Matched {
  std::vector<std::int64_t> users, items;
};
Matched match(const Trained& trained, const RatingList& list);

Rated rated_in(const Trained& trained, const RatingList& list);

// Scores of all items for a user, and the best of them. Borrows the model.
// Thread safety: top() with a Scratch of the thread's own.
class TopItems {
 public:
  explicit TopItems(const Trained& trained);

  struct Scratch {
    std::vector<float> user, scores;
    std::vector<std::int32_t> order;
  };
  // At most `count` items by descending score, then ascending number, without those in `rated`.
  // Valid until the next call with this scratch.
  std::span<const std::int32_t> top(std::int64_t user, std::span<const std::int32_t> rated,
                                    std::int64_t count, Scratch& scratch) const;

 private:
  const Trained& trained_;
  std::size_t width_;
  std::vector<float> table_;       // rows of items, filled up
  std::vector<std::int32_t> all_;  // 0, 1, ...
};

}  // namespace meanwhile::learn::factorize
