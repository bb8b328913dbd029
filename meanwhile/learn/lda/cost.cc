// Cost of LDA, from the shape of the data alone.
//
// Counted are the operations on the topics of each distinct word of a document: about 30 to load
// them where models are sent, and 4 in each iteration of its inference. How many iterations that
// takes is not to be known before; on real and generated texts it was from 4 to 15.
#include <algorithm>

#include "meanwhile/learn/lda/lda.h"
#include "meanwhile/learn/lda/stages.h"

namespace meanwhile::learn::lda {

namespace {

constexpr double kIterations = 8, kLoading = 30;

}  // namespace

Cost Lda::cost(const Shape& shape) const {
  const auto stored = static_cast<double>(shape.stored), V = static_cast<double>(shape.cols);
  const auto K = static_cast<double>(fit_.parameters.n_topics);
  const double share = 1 / static_cast<double>(fit_.rounds_in_pass(shape.rows));
  const double loading = fit_.parameters.send == Send::kModel ? kLoading : 2;
  Cost cost;
  cost.flops = share * stored * K * (loading + 4 * kIterations);
  cost.bytes_read = share * stored * (shape.sparse ? 8 : 4);
  cost.update_bytes = 8 * (V * K + K);
  cost.absorb_bytes = 5 * cost.update_bytes;
  cost.kernel = fit_.parameters.send == Send::kModel ? "lda-model" : "lda-gradient";
  cost.outputs = K;
  return cost;
}

std::vector<Stretch> Lda::course(const Shape& shape) const {
  std::vector<Stretch> course;
  const Cost round = cost(shape);
  stage(StageName::kStatistics).plan(shape, round, course);
  const Progress& progress = fit_.progress;
  const std::int64_t done = progress.pass * fit_.rounds_in_pass(shape.rows) + progress.round;
  const auto left = std::max<std::int64_t>(0, fit_.total_rounds(shape.rows) - done);
  course.push_back({Phase::kTrain, static_cast<double>(left), round});
  stage(StageName::kScore).plan(shape, round, course);
  return course;
}

}  // namespace meanwhile::learn::lda
