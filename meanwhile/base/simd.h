// Which instruction set the kernels run on. Highway compiles each kernel for several, and the best
// one the machine has is chosen at run time. The choice changes speed, never results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::base {

// Best first, of those this machine can run: avx512_vnni, avx512, avx2, sse4, ssse3, baseline.
std::vector<std::string> simd_targets();

// The one in use.
std::string simd_target();

// From here on uses none better than `name`, which is one of simd_targets(). Not to be called while
// kernels run. THROWS Error(kUsage) naming the targets there are.
void limit_simd(std::string_view name);

// True when the 8-bit dot products of AVX-512 VNNI may be used.
bool simd_has_vnni();

}  // namespace meanwhile::base
