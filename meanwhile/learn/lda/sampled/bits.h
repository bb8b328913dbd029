// Random bits of many tokens at a time, by vectors: Philox4x32-10 as in base/random.h, under a key
// that is drawn from a base::Random. The same bits on every instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "meanwhile/base/random.h"

namespace meanwhile::learn::lda::sampled {

class Bits {
 public:
  // The key is block(0) of `random`; its other blocks may be used.
  explicit Bits(const base::Random& random) : key_(random.block(0)) {}

  base::PhiloxBlock block(std::uint64_t index) const {
    return base::philox4x32({static_cast<std::uint32_t>(index),
                             static_cast<std::uint32_t>(index >> 32), key_[2], key_[3]},
                            {key_[0], key_[1]});
  }
  // block(first), block(first + 1), ...
  void blocks(std::uint64_t first, std::span<base::PhiloxBlock> to) const;

 private:
  base::PhiloxBlock key_;
};

}  // namespace meanwhile::learn::lda::sampled
