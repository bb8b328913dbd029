// Measures of a model of ratings on ratings that it has not seen. doc/factorize.md defines them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/factorize/top_items.h"

namespace meanwhile::learn::factorize {

// Precision, recall and normalised discounted cumulative gain of a list of items. `relevant`:
// ascending, not empty.
struct RankMeasures {
  double precision = 0, recall = 0, ndcg = 0;
};
RankMeasures rank_measures(std::span<const std::int32_t> list,
                           std::span<const std::int32_t> relevant, std::int64_t top);

// All measures of `held_out`, whose lists leave out the items in `rated`. The same for any number
// of threads.
Json measures_of(const Trained& trained, Feedback feedback, const RatingList& held_out,
                 const Rated& rated, std::int64_t top, int threads,
                 std::vector<std::string>& notes);

}  // namespace meanwhile::learn::factorize
