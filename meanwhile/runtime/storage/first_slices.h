// The slices of a job's tables before step 0, and those that go with its model: between a store and
// the folder beside the state of a run (tables/slice_files.h).
#pragma once

#include <filesystem>
#include <optional>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/runtime/storage/slice_versions.h"
#include "meanwhile/runtime/storage/submit.h"

namespace meanwhile::runtime {

class FirstSlices {
 public:
  // Nothing when the learner has no tables. Reads all slices of a run that is resumed, one at a
  // time, so that a job whose slices are missing or damaged is refused before anything is put.
  // REQUIRES: the learner is attached. THROWS Error(kUsage) when rounds came before and no state is
  // given, Error(kInput) for slices that cannot be read.
  static std::optional<FirstSlices> of(const Submission& submission);

  const tables::TableSet& set() const { return set_; }
  const SliceVersions& versions() const { return versions_; }
  // Puts them. THROWS as of().
  void put(storage::BlobStore& blobs, const Names& names, base::ThreadPool& pool) const;

 private:
  FirstSlices(tables::TableSet set, SliceVersions versions, std::filesystem::path folder)
      : set_(std::move(set)), versions_(std::move(versions)), folder_(std::move(folder)) {}

  tables::TableSet set_;
  SliceVersions versions_;
  std::filesystem::path folder_;  // empty: all slices are zero
};

// Writes the slices of a model at a store to `folder`, one at a time. THROWS Error(kFailed) for one
// that cannot be read, or is not the one that the model names.
void fetch_slices(storage::BlobStore& blobs, const Names& names, const data::SafetensorsFile& model,
                  const std::filesystem::path& folder, base::Clock& clock);

}  // namespace meanwhile::runtime
