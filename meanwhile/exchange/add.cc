// In blocks that stay in the first cache, with the inner sums of a block in a scratch space: memory
// sees each term read once and the sum written once.
#include "meanwhile/exchange/add.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

namespace meanwhile::exchange {
namespace {

constexpr std::size_t kBlock = 256;  // values: 2 KiB
using Block = std::array<double, kBlock>;

// The sum at begin .. begin + size: where a term has it already, or written to `out`.
const double* sum(Range node, std::span<const Term> terms, std::size_t begin, std::size_t size,
                  double* out, Block* scratch) {
  if (terms.size() == 1) {
    assert(terms[0].range == node);
    return terms[0].values + begin;
  }
  const Children below = children(node);
  const auto split = std::find_if(terms.begin(), terms.end(), [&](const Term& term) {
    return term.range.begin >= below.left.end;
  });
  const auto count = static_cast<std::size_t>(split - terms.begin());
  const double* a = sum(below.left, terms.first(count), begin, size, out, scratch + 1);
  const double* b =
      sum(below.right, terms.subspan(count), begin, size, scratch->data(), scratch + 1);
  for (std::size_t i = 0; i < size; ++i) out[i] = a[i] + b[i];
  return out;
}

}  // namespace

void add_terms(Range node, std::span<const Term> terms, std::size_t size, double* out) {
  if (terms.size() == 1) {
    std::copy_n(terms[0].values, size, out);
    return;
  }
  std::array<Block, 33> scratch;  // one for each level of the tree; not initialised on purpose
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    sum(node, terms, begin, std::min(kBlock, size - begin), out + begin, scratch.data());
  }
}

}  // namespace meanwhile::exchange
