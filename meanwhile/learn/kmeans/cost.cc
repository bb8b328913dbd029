// Cost of k-means, from the shape of the data alone.
//
// Counted are the 2 N K D operations of the distances; sums and the choice of the nearest are in
// the rate at which a machine does them. Bounds spare distances in later rounds of data that has
// clusters; how many is not to be known before, so what is said here is the most it can be.
#include <cmath>

#include "meanwhile/learn/kmeans/kmeans.h"

namespace meanwhile::learn::kmeans {

Cost KMeans::cost(const Shape& shape) const {
  const auto stored = static_cast<double>(shape.stored), rows = static_cast<double>(shape.rows);
  const auto K = static_cast<double>(parameters_.n_clusters), D = static_cast<double>(shape.cols);
  const double share =
      parameters_.batch_size > 0
          ? std::min(1.0, static_cast<double>(parameters_.batch_size) / std::max(rows, 1.0))
          : 1;
  Cost cost;
  cost.flops = share * 2 * stored * K;
  cost.bytes_read = share * stored * (shape.sparse ? 8 : 4);
  cost.update_bytes = 8 * K * (D + 2);
  cost.absorb_bytes = 4 * cost.update_bytes;
  cost.kernel = "kmeans";
  cost.outputs = K;
  return cost;
}

std::vector<Stretch> KMeans::course(const Shape& shape) const {
  std::vector<Stretch> course;
  const Cost round = cost(shape);
  const std::int64_t count = given_centers_ ? 1
                             : starts_ > 0  ? starts_
                                            : kmeans::starts(parameters_, shape.rows, shape.stored);
  const auto starts = static_cast<double>(count);
  if (!given_centers_ && !progress_.seeded) {
    for (Stretch stretch : seeding_course(parameters_.init.named().value_or(InitMethod::kAuto),
                                          shape, parameters_.n_clusters)) {
      stretch.rounds *= starts;
      course.push_back(std::move(stretch));
    }
  }
  course.push_back({Phase::kTrain, static_cast<double>(rounds_left(count)), round});
  Cost score = round;  // of all rows, whatever a batch is
  score.flops = 2 * static_cast<double>(shape.stored) * round.outputs;
  score.bytes_read = static_cast<double>(shape.stored) * (shape.sparse ? 8 : 4);
  course.push_back({Phase::kScore, starts, score});
  return course;
}

}  // namespace meanwhile::learn::kmeans
