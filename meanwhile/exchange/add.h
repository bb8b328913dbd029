// Adding along the one tree, for whoever has all that belongs to a node of it.
#pragma once

#include <cstddef>
#include <span>

#include "meanwhile/exchange/order.h"

namespace meanwhile::exchange {

// A piece of the sum of a subtree; where it lies.
struct Term {
  Range range;
  const double* values = nullptr;
};

// out[i] = the sum over `node` at i, for i < size. Reads every term once, whatever the shape.
// REQUIRES: the terms are in order, each a subtree, together `node`; `out` overlaps none of them.
void add_terms(Range node, std::span<const Term> terms, std::size_t size, double* out);

}  // namespace meanwhile::exchange
