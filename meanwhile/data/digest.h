// SHA-256 of a data set in blocks, so that workers that hold a part each can compute it together.
// Each block of block_rows() rows has a digest (of lengths of sparse rows, columns, values, weights
// and labels). The SHA-256 is a hash of a description and the digests in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/deal.h"

namespace meanwhile::data {

using Digest = std::array<std::byte, 32>;

// The digest of each of `blocks`, the same for any `threads`. Releases the pages of mapped data.
std::vector<Digest> block_digests(const Dataset& data, std::span<const RowRange> blocks,
                                  base::Threads threads);

// Counts of the whole data set.
struct Whole {
  std::int64_t rows = 0, stored = 0;
  bool labelled = false, weighted = false;
};
Whole whole_of(const Dataset& data);

// Shape, type and class names as text. Feature names are left out: the same rows read from a file
// with a header line and from one without are the same data.
std::string describe(const Dataset& data, const Whole& whole);

// The hash of a data set of this shape whose type, columns and class names are those of `data`.
// REQUIRES: digests of all its blocks, in order.
std::string sha256(const Dataset& data, const Whole& whole, std::span<const Digest> digests);

// Blocks of `block` rows that cover `rows` rows; the last may be shorter.
std::vector<RowRange> blocks_of(std::int64_t rows, std::int64_t block);

}  // namespace meanwhile::data
