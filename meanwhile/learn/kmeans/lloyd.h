// One round of Lloyd's algorithm (or of mini-batches): what a shard adds to the update, and how the
// update is laid out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/learn/kmeans/assign.h"
#include "meanwhile/learn/kmeans/sums.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::kmeans {

// The update: K x D sums | K weights | K inertias | measures | far rows, a slot of `far` rows for
// each shard. Sums are of whole subtrees of shards, so slots of other shards are zero and add up.
class UpdateView {
 public:
  // Measures may depend on what caches hold; nothing that is learned depends on them.
  enum Measure { kMoved, kKnown, kSearched, kCompared, kRows, kMeasures };

  UpdateView(std::int64_t K, std::int64_t D, int shards, std::int64_t far)
      : K_(K), D_(D), shards_(shards), far_(far) {}

  std::size_t size() const {
    return static_cast<std::size_t>(K_ * D_ + 2 * K_ + kMeasures + shards_ * far_ * (D_ + 2));
  }
  std::int64_t sums() const { return 0; }
  std::int64_t weights() const { return K_ * D_; }
  std::int64_t inertias() const { return K_ * D_ + K_; }
  std::int64_t measures() const { return K_ * D_ + 2 * K_; }
  // Far row i of `shard`: its distance, its number + 1 (0: none), its D columns.
  std::int64_t far_row(int shard, std::int64_t i) const {
    return measures() + kMeasures + (shard * far_ + i) * (D_ + 2);
  }

 private:
  std::int64_t K_, D_;
  int shards_;
  std::int64_t far_;
};

// A worker's cache of a shard between rounds, to save work. It can be dropped at any time, and the
// results stay the same to the last bit.
struct ShardCache {
  std::optional<Grid> grid;
  std::vector<std::int32_t> labels;  // of all rows of the shard, or empty
  std::vector<float> upper, lower;   // bounds that go with them
  ClusterSums sums;                  // of the rows by those labels
};

struct Round {
  std::span<const double> values;  // the centres, K x D
  Prepared centers;                // the same, made ready
  Drift drift;                     // since the caches were filled; empty: none were
  std::int64_t far = 0;            // rows farthest from their centres that each shard reports
  std::int64_t batch = 0;          // rows to sample over all shards; 0: all rows
  bool exact = false;              // inertia from every row's distance, not from sums
  bool keep_rows = false;          // 12 bytes a row: labels and bounds
  bool keep_sums = false;          // 8 K D bytes a shard, to be patched by the rows that moved
  std::uint64_t seed = 0;
  std::uint32_t number = 0;  // of the round, for random numbers
};

// Adds the update of `shard` for this round.
void work_on_shard(const Round& round, const Attachment& job, const data::Shard& shard,
                   ShardCache& cache, std::span<double> update);

// Moves each centre with rows to their mean (of unit length under cosine); the others stay. Returns
// how far each moved.
std::vector<double> move_centers(Metric metric, const UpdateView& view,
                                 std::span<const double> total, std::int64_t K, std::int64_t D,
                                 std::vector<double>& centers);

// Writes `to` (D values) over a centre; returns how far that moved it.
double move_center(std::span<double> center, const double* to);

// Row number i of the shard in the data.
inline std::int64_t row_of(const data::Shard& shard, std::int64_t i) {
  const std::int64_t length = shard.blocks.front().end - shard.blocks.front().begin;
  return shard.blocks[static_cast<std::size_t>(i / length)].begin + i % length;
}

}  // namespace meanwhile::learn::kmeans
