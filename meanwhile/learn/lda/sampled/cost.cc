// The cost of a round, from the shape of the data alone. A token takes as long as some 1,000
// operations of a kernel that computes, for any number of topics: it waits for memory and for
// branches.
#include <algorithm>

#include "meanwhile/learn/lda/sampled/memory.h"
#include "meanwhile/learn/lda/sampled/sampled.h"

namespace meanwhile::learn::lda::sampled {

namespace {

constexpr double kOperations = 1000;  // of a token and step
constexpr double kFirstWork = 9;      // steps of tokens that have no topics yet
constexpr double kCounting = 4;       // of a stored value that is only counted
constexpr double kPageBytes = 72;     // of an update: a page and its number
constexpr double kCountBytes = 16;    // of a pair of word and topic: before and after

}  // namespace

Cost Sampled::cost(const Shape& shape) const {
  const double share = 1 / static_cast<double>(rounds_in_pass(shape.rows));
  const double tokens = kTokensOfCount * static_cast<double>(shape.stored);
  const auto V = static_cast<double>(shape.cols), K = static_cast<double>(parameters_.n_topics);
  const double drawn = parameters_.exact ? V * K : 0;
  const double shards = job_.part == nullptr ? 8 : static_cast<double>(job_.part->shards.size());
  Cost cost;
  cost.flops = share * tokens * kOperations * static_cast<double>(parameters_.sweeps) + 50 * drawn;
  cost.bytes_read = share * static_cast<double>(shape.stored) * (shape.sparse ? 8 : 4);
  // A worker that is alone sends nothing. Others send pages in which a token changed, or all.
  cost.mirrored_bytes = std::min(2 * V * K, 2 * kPageBytes * share * tokens / shards);
  cost.update_bytes = cost.mirrored_bytes + 8 * K;
  cost.absorb_bytes = kCountBytes * std::min(V * K, tokens) + 12 * drawn;
  cost.kernel = "lda-mh";
  cost.outputs = K;
  return cost;
}

std::vector<Stretch> Sampled::course(const Shape& shape) const {
  const Cost round = cost(shape);
  const auto stored = static_cast<double>(shape.stored);
  Cost counting = round;
  counting.flops = kCounting * stored;
  counting.bytes_read = stored * (shape.sparse ? 8 : 4);
  counting.update_bytes = 8 * static_cast<double>(shape.cols);
  counting.mirrored_bytes = counting.absorb_bytes = 0;
  std::vector<Stretch> course;
  if (progress_.stage == StageName::kCount) course.push_back({Phase::kPrepare, 1, counting});
  if (progress_.stage <= StageName::kFirst) {
    const auto parts = static_cast<double>(first_parts(shape.rows).size());
    Cost part = round;
    part.flops *= kFirstWork / parts;
    part.bytes_read /= parts;
    course.push_back({Phase::kPrepare, parts, part});
  }
  const std::int64_t a_pass = rounds_in_pass(shape.rows);
  const std::int64_t done = progress_.pass * a_pass + progress_.round;
  const auto left = std::max<std::int64_t>(0, parameters_.passes * a_pass - done);
  course.push_back({Phase::kTrain, static_cast<double>(left), round});
  Cost score = counting;
  score.update_bytes = 8 * round.outputs * static_cast<double>(kTopWords * (kTopWords + 1) / 2);
  course.push_back({Phase::kScore, 1, score});
  return course;
}

}  // namespace meanwhile::learn::lda::sampled
