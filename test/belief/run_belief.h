// Runs of belief propagation in one process, as the thread runtime does them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "meanwhile/data/files/factors/factor_rows.h"
#include "meanwhile/data/part.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/belief/belief.h"

namespace meanwhile::test {

// All rows, in consecutive shards.
inline data::Part factor_part(data::Dataset data, int shards) {
  const auto& rows = std::get<data::Sparse<double>>(data.x);
  data::Part part;
  part.rows = rows.rows;
  part.stored = data::stored(data.x);
  part.shards =
      graph::cut(std::span(rows.row_start, static_cast<std::size_t>(rows.rows) + 1), shards);
  part.data = std::move(data);
  return part;
}

inline job::TrainResult train_belief(learn::belief::Belief& learner, const data::Part& part,
                                     int threads = 1) {
  job::TrainOptions options;
  options.threads = threads;
  options.shards = static_cast<int>(part.shards.size());
  return job::train(learner, part, options);
}

// A graph whose variables are all in a factor.
inline data::Part factor_part(const data::FactorGraph& graph, int shards) {
  return factor_part(data::factor_rows(data::with_evidence(graph, {})), shards);
}

}  // namespace meanwhile::test
