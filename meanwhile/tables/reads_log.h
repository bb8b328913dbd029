// The record of a run whose workers did not wait for each other: which updates every read saw. With
// it the run can be repeated to the last bit, on any runtime and any number of workers.
//
// A reader is a worker of the run: some shards, which read together; at a store it is a shard. The
// model is cut into slices, as many as there are readers, or one where moves are read whole; of
// slice j, reader r saw at its clock c so many clocks of each source. Clocks of a stretch count
// from its beginning: at the end of one, all readers have seen everything, and the model begins
// anew from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/tables/reads.h"

namespace meanwhile::tables {

struct Stretch {
  double grid = 1;                 // of its moves: see fixed_point.h
  int readers = 1;                 // a run that is resumed may have others
  std::int64_t clocks = 0;         // that every reader did, or rested at
  std::vector<std::int16_t> lags;  // clock - clocks seen, by clock, reader, slice and source
  bool whole = false;              // moves are read whole: the model is one slice
  // Clocks that each reader worked at. At those after them it moved nothing, and had the summaries
  // of its last one; their lags are 0. Empty: all readers worked at all clocks.
  std::vector<std::int64_t> worked = {};

  std::int64_t worked_by(int reader) const {
    return worked.empty() ? clocks : worked[static_cast<std::size_t>(reader)];
  }
  int slices() const { return whole ? 1 : readers; }
  // Lags of a clock.
  std::size_t clock_size() const { return place(1, 0, 0); }

  // Where a reader's lags of a slice begin, one for each source.
  std::size_t place(std::int64_t clock, int reader, int slice) const {
    const auto R = static_cast<std::size_t>(readers);
    return ((static_cast<std::size_t>(clock) * R + static_cast<std::size_t>(reader)) *
                static_cast<std::size_t>(slices()) +
            static_cast<std::size_t>(slice)) *
           R;
  }
};

// Identity of the run that a record belongs to: it is of use for the same run alone.
struct RecordedRun {
  std::string learner, parameters, data_sha256;
  std::uint64_t seed = 0;
  int shards = 1;

  bool operator==(const RecordedRun&) const = default;
};

class ReadsLog {
 public:
  ReadsLog() = default;
  ReadsLog(RecordedRun run, int staleness, std::int64_t size)
      : run_(std::move(run)), staleness_(staleness), size_(size) {}

  // The bytes of a file, sealed; and what was recorded. THROWS Error(kInput), `name` first, for
  // bytes that are no whole record, or one that no run can have made.
  std::vector<std::byte> bytes() const;
  static ReadsLog read(std::span<const std::byte> bytes, const std::string& name);

  const RecordedRun& run() const { return run_; }
  int staleness() const { return staleness_; }
  std::int64_t size() const { return size_; }  // numbers of the model
  const std::vector<Stretch>& stretches() const { return stretches_; }

  void add(Stretch stretch) { stretches_.push_back(std::move(stretch)); }

  // The numbers of the model in a slice.
  struct Slice {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  static Slice slice(std::int64_t size, int number, int of) {
    const auto bound = [&](std::int64_t at) { return static_cast<std::size_t>(size * at / of); };
    return {bound(number), bound(number + 1)};
  }

 private:
  RecordedRun run_;
  int staleness_ = 0;
  std::int64_t size_ = 0;
  std::vector<Stretch> stretches_;
};

// How stale the reads of a run were: how many lagged 0, 1, 2 ... clocks behind, over all slices and
// the sources other than the reader itself.
std::vector<std::int64_t> staleness_histogram(const ReadsLog& log);
// The same of one clock of a stretch.
std::vector<std::int64_t> staleness_histogram(const Stretch& stretch, std::int64_t clock);
// Counts an entry of a cut that lacks so many clocks.
inline void add_stale(std::vector<std::int64_t>& histogram, std::int64_t stale) {
  const auto at = static_cast<std::size_t>(stale);
  if (histogram.size() <= at) histogram.resize(at + 1, 0);
  ++histogram[at];
}

// Clocks of readers, and how many of them began although another reader was not done with the clock
// before: in rounds they would have waited for it.
struct Waits {
  std::int64_t clocks = 0, saved = 0;
};
Waits waits_of(const ReadsLog& log);
Waits waits_of(const Stretch& stretch, std::int64_t clock);

}  // namespace meanwhile::tables
