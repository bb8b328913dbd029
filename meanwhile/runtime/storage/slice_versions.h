// Which version of each slice of the tables is the present one: what it holds, and the step before
// which it was put. Slices that were never added to are zero and have no blob.
//
// Versions are a part of the learner's state, and travel with updates: the shard that owns a slice
// (Layout::bin_of) tells of its next version in a block behind those of the learner, and the total
// tells all workers. So a worker that has the total knows the digest of every slice, and that all
// of them are at the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/tables/slice_files.h"

namespace meanwhile::runtime {

struct SliceVersion {
  tables::Digest digest{};
  std::int64_t step = 0;

  bool is_zero() const { return digest == tables::Digest{}; }
};

class SliceVersions {
 public:
  // All slices are zero.
  explicit SliceVersions(const tables::TableSet& set);
  // Those of a state at a store. check() says whether they are.
  explicit SliceVersions(const data::SafetensorsFile& state);
  // Those of a run directory's state, put before step 0.
  explicit SliceVersions(std::vector<std::int64_t> digests);

  // THROWS Error(kInput), `name` first, when there are not as many as the set has slices.
  void check(const tables::TableSet& set, const std::string& name) const;

  // `slice`: TableSet::index().
  SliceVersion at(std::size_t slice) const {
    return {tables::digest_at(digests_, slice), steps_[slice]};
  }

  // The block of updates, and the version of a slice in it. Rows that are not touched, or are zero,
  // are of slices that stay as they are.
  static exchange::Block block(const tables::TableSet& set);
  static void put(exchange::Update& update, int block, std::size_t slice,
                  const SliceVersion& version);
  void take(const exchange::Update& total, int block);

  // Adds them to a state, which borrows.
  void add_to(learn::State& state, const tables::TableSet& set) const;

 private:
  std::vector<std::int64_t> digests_, steps_;
};

// The tensor of the steps, in a state at a store only.
inline constexpr char kSliceSteps[] = "table-steps";

}  // namespace meanwhile::runtime
