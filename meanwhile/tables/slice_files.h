// Slices in files of a checkpoint or a model, one each: NAME-SSSSS.safetensors. A slice that was
// never added to is zero and has no file. The state names the digest of every slice, so that files
// of another checkpoint are never taken for its own.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/tables/slice_store.h"

namespace meanwhile::tables {

// The tensor of a state that has the digest of every slice, so that the hash of a model covers its
// tables.
inline constexpr char kDigests[] = "tables";

// Words of a SHA-256. All zero: the slice was never added to.
inline constexpr std::size_t kDigestWords = 4;
using Digest = std::array<std::int64_t, kDigestWords>;

// The digest of a slice with these tensors.
Digest digest_of(const std::map<std::string, data::Tensor>& tensors);
// The digest of slice `index` (TableSet::index) among those of all. REQUIRES: there are so many.
Digest digest_at(std::span<const std::int64_t> digests, std::size_t index);

// Metadata of a slice's file or blob.
data::Metadata slice_metadata(const Table& table, int slice);

// Digests of the slices that a store owns, one after another, in the order of SliceStore::each().
std::vector<std::int64_t> digests(const SliceStore& store);

// The file of a slice.
std::filesystem::path slice_file(const std::filesystem::path& folder, const Table& table,
                                 int slice);

// Writes the slices that the store owns to `folder`, which is made. One slice is in memory at a
// time. THROWS Error(kSystem).
void save_slices(const TableSet& set, const SliceStore& store, const std::filesystem::path& folder);

// Reads a slice from its file in `folder`. THROWS Error(kInput) when it is missing, damaged or not
// the one of this digest.
std::shared_ptr<const Slice> read_slice(const TableSet& set, int table, int slice,
                                        const std::filesystem::path& folder,
                                        const Digest& expected);

// THROWS Error(kInput), `name` first, when `digests` are not those of all slices of the set.
void check_digests(const TableSet& set, std::span<const std::int64_t> digests,
                   const std::string& name);

// Reads the slices that the store owns. `digests`: of all slices of all tables, in order.
// THROWS Error(kInput) for a slice that is missing, damaged or not the one of this digest.
void restore_slices(const TableSet& set, SliceStore& store, const std::filesystem::path& folder,
                    std::span<const std::int64_t> digests);

}  // namespace meanwhile::tables
