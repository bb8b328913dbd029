// Where the numbers of an update lie.
#pragma once

#include <cstddef>

namespace meanwhile::learn::lda::sampled {

inline constexpr int kChanges = 0, kRest = 1;  // blocks
inline constexpr std::size_t kCountHead = 1;   // documents; counts of words follow
// Numbers of the rest; one for each topic follows.
enum Rest : std::size_t { kTokens, kChanged, kLogP, kNorm, kRestHead };

}  // namespace meanwhile::learn::lda::sampled
