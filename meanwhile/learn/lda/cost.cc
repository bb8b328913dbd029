// What LDA costs, from the shape of the data alone.
//
// Counted are the operations on the topics of each distinct word of a document: about 30 to load
// them where models are sent, and 4 in each iteration of its inference. How many iterations that
// takes is not to be known before; on real and generated texts it was from 4 to 15.
#include <algorithm>

#include "meanwhile/learn/lda/lda.h"

namespace meanwhile::learn::lda {

namespace {

constexpr double kIterations = 8, kLoading = 30, kCounting = 4;

}  // namespace

Cost Lda::cost(const Shape& shape) const {
  const auto stored = static_cast<double>(shape.stored), V = static_cast<double>(shape.cols);
  const auto K = static_cast<double>(parameters_.n_topics);
  const double share = 1 / static_cast<double>(rounds_a_pass(shape.rows));
  const double loading = parameters_.send == Send::kModel ? kLoading : 2;
  Cost cost;
  cost.flops = share * stored * K * (loading + 4 * kIterations);
  cost.bytes_read = share * stored * (shape.sparse ? 8 : 4);
  cost.update_bytes = 8 * (V * K + K);
  cost.absorb_bytes = 5 * cost.update_bytes;
  cost.kernel = parameters_.send == Send::kModel ? "lda-model" : "lda-gradient";
  cost.outputs = K;
  return cost;
}

std::vector<Stretch> Lda::course(const Shape& shape) const {
  std::vector<Stretch> course;
  const Cost round = cost(shape);
  const auto stored = static_cast<double>(shape.stored);
  if (stage() == Stage::kStatistics) {
    Cost counting = round;
    counting.flops = kCounting * stored;
    counting.bytes_read = stored * (shape.sparse ? 8 : 4);
    counting.update_bytes = 8 * static_cast<double>(shape.cols);
    counting.absorb_bytes = round.absorb_bytes;
    course.push_back({Phase::kPrepare, 1, counting});
  }
  const std::int64_t done = progress_.pass * rounds_a_pass(shape.rows) + progress_.round;
  const auto left = std::max<std::int64_t>(0, total_rounds(shape.rows) - done);
  course.push_back({Phase::kTrain, static_cast<double>(left), round});
  Cost score = round;
  score.flops = kCounting * stored;
  score.bytes_read = stored * (shape.sparse ? 8 : 4);
  score.update_bytes = 8 * round.outputs * static_cast<double>(kTopWords * (kTopWords + 1) / 2);
  course.push_back({Phase::kScore, 1, score});
  return course;
}

}  // namespace meanwhile::learn::lda
