// In blocks that stay in the first cache, with the inner sums of a block in a scratch space: memory
// sees each term read once and the sum written once.
#include "meanwhile/exchange/add.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace meanwhile::exchange {
namespace {

constexpr std::size_t kBlock = 256;  // values: 2 KiB of float64
template <class T>
using Scratch = std::array<T, kBlock>;

template <class T>
struct Adder {
  const Combine how;

  // The sum at begin .. begin + size: where a term has it already, or written to `out`.
  const T* sum(Range node, std::span<const Term> terms, std::size_t begin, std::size_t size, T* out,
               Scratch<T>* scratch) const {
    if (terms.size() == 1) {
      assert(terms[0].range == node);
      return reinterpret_cast<const T*>(terms[0].values) + begin;
    }
    const Children below = children(node);
    const auto split = std::find_if(terms.begin(), terms.end(), [&](const Term& term) {
      return term.range.begin >= below.left.end;
    });
    const auto count = static_cast<std::size_t>(split - terms.begin());
    const T* a = sum(below.left, terms.first(count), begin, size, out, scratch + 1);
    const T* b = sum(below.right, terms.subspan(count), begin, size, scratch->data(), scratch + 1);
    combine(how, a, b, out, size);
    return out;
  }

  void run(Range node, std::span<const Term> terms, std::size_t size, T* out) const {
    if (terms.size() == 1) {
      std::copy_n(reinterpret_cast<const T*>(terms[0].values), size, out);
      return;
    }
    std::array<Scratch<T>, 33>
        scratch;  // one for each level of the tree; not initialised on purpose
    for (std::size_t begin = 0; begin < size; begin += kBlock) {
      sum(node, terms, begin, std::min(kBlock, size - begin), out + begin, scratch.data());
    }
  }
};

}  // namespace

void add_terms(Element element, Combine how, Range node, std::span<const Term> terms,
               std::size_t size, std::byte* out) {
  with_element(element, [&](auto type) {
    using T = decltype(type);
    Adder<T>{how}.run(node, terms, size, reinterpret_cast<T*>(out));
  });
}

}  // namespace meanwhile::exchange
