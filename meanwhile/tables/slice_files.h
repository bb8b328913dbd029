// Slices in files of a checkpoint or a model, one each: NAME-SSSSS.safetensors. A slice that was
// never added to is zero and has no file. The state names the digest of every slice, so that files
// of another checkpoint are never taken for its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "meanwhile/tables/slice_store.h"

namespace meanwhile::tables {

// Words of a SHA-256. All zero: the slice was never added to.
inline constexpr std::size_t kDigestWords = 4;

// Digests of the slices that a store owns, one after another, in the order of SliceStore::each().
std::vector<std::int64_t> digests(const SliceStore& store);

// Writes the slices that the store owns to `folder`, which is made. One slice is in memory at a
// time. THROWS Error(kSystem).
void save_slices(const TableSet& set, const SliceStore& store, const std::filesystem::path& folder);

// Reads the slices that the store owns. `digests`: of all slices of all tables, in order.
// THROWS Error(kInput) for a slice that is missing, damaged or not the one of this digest.
void restore_slices(const TableSet& set, SliceStore& store, const std::filesystem::path& folder,
                    std::span<const std::int64_t> digests);

}  // namespace meanwhile::tables
