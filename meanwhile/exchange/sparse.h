// A piece of an update as a message: all values, or those that were touched with their places.
// +0.0 means untouched, by its bits: -0.0 and every NaN arrive as they were sent. What arrives is
// the same piece either way, so the choice never changes a sum.
//
//   dense:   values (8 bytes each)
//   sparse:  k values (8 bytes each), then their k places in the piece (uint32, ascending)
//
// A sparse message is always shorter than the dense one, and that tells them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

inline constexpr std::size_t kSparseEntryBytes = 12;

// The rule. Half the bytes must be saved: below that, packing and unpacking cost more than a fast
// link wins.
inline constexpr bool sparse_pays(std::size_t size, std::size_t touched) {
  return size <= std::numeric_limits<std::uint32_t>::max() &&
         2 * kSparseEntryBytes * touched < sizeof(double) * size;
}

// How many values are touched; stops counting at the first number for which sparse does not pay.
std::size_t count_touched(std::span<const double> piece);

// The bytes to send: those of `piece` itself, or a sparse form of it written to `space`.
std::span<const std::byte> pack(std::span<const double> piece, transport::Bytes& space);

// Makes a piece of a message of `bytes` bytes that was received into the piece's own memory.
// THROWS Error(kFailed) when no pack() can have made it.
void unpack(std::span<double> piece, std::size_t bytes, transport::Bytes& space);

}  // namespace meanwhile::exchange
