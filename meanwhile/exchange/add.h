// Adding along the one tree, where everything that belongs to a node of it is in memory.
#pragma once

#include <cstddef>
#include <span>

#include "meanwhile/exchange/combine.h"
#include "meanwhile/exchange/order.h"

namespace meanwhile::exchange {

// Values of the sum of a subtree.
struct Term {
  Range range;
  const std::byte* values = nullptr;
};

// out[i] = the sum over `node` at i, for i < size elements. Reads every term once, whatever the
// shape of the tree.
// REQUIRES: the terms are in order, each a subtree, together `node`; `out` overlaps none of them.
// THROWS Error(kFailed) when int64 overflows.
void add_terms(Element element, Combine how, Range node, std::span<const Term> terms,
               std::size_t size, std::byte* out);

}  // namespace meanwhile::exchange
