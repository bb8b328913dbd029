// Values as a message: all of them, or those that were touched with their places. A value counts as
// untouched when its bits are those of the identity (+0.0 where values add): -0.0 and every NaN
// arrive as they were sent. What arrives is the same either way, so the choice never changes a sum.
//
//   dense:   values
//   sparse:  k values, then their k places among all (uint32, ascending)
//
// A sparse message is always shorter than the dense one, and that tells them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "meanwhile/exchange/combine.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

inline constexpr std::size_t kPlaceBytes = sizeof(std::uint32_t);

// The rule. Half the bytes must be saved: below that, packing and unpacking cost more than a fast
// link wins.
inline constexpr bool sparse_pays(std::size_t size, std::size_t touched,
                                  std::size_t value_bytes = sizeof(double)) {
  return size <= std::numeric_limits<std::uint32_t>::max() &&
         2 * (value_bytes + kPlaceBytes) * touched < value_bytes * size;
}

// Values of one type, as bytes.
struct Values {
  Element element = Element::kFloat64;
  Combine how = Combine::kAdd;
  std::span<const std::byte> bytes;

  std::size_t size() const { return bytes.size() / element_bytes(element); }
};

// How many values are touched; stops counting at the first number for which sparse does not pay.
std::size_t count_touched(const Values& values);

// The bytes to send: those of `values` itself, or a sparse form of it written to `space`.
std::span<const std::byte> pack(const Values& values, transport::Bytes& space);

// Makes values of a message of `bytes` bytes that was received into their own memory.
// THROWS Error(kFailed) when no pack() can have made it.
void unpack(Element element, Combine how, std::span<std::byte> values, std::size_t bytes,
            transport::Bytes& space);

}  // namespace meanwhile::exchange
