#include "meanwhile/base/simd.h"

#include <fmt/ranges.h>
#include <hwy/targets.h>

#include <atomic>

#include "meanwhile/base/error.h"

namespace meanwhile::base {

namespace {

constexpr std::string_view kVnni = "avx512_vnni";

// The chosen target is a property of the process in Highway; so is this one beside it. (Highway's
// own AVX3_DL asks for more than VNNI and lets the compiler use AVX-VNNI, which is another thing.)
std::atomic<bool> vnni_allowed{true};

std::string plain_name(std::int64_t target) {
  switch (target) {
    case HWY_AVX3:
      return "avx512";
    case HWY_AVX2:
      return "avx2";
    case HWY_SSE4:
      return "sse4";
    case HWY_SSSE3:
      return "ssse3";
    default:
      return "baseline";
  }
}

}  // namespace

bool simd_has_vnni() {
  return vnni_allowed && hwy::SupportedAndGeneratedTargets().front() == HWY_AVX3 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  if (simd_has_vnni()) names.emplace_back(kVnni);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.push_back(plain_name(target));
  }
  return names;
}

std::string simd_target() { return simd_targets().front(); }

void limit_simd(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  vnni_allowed = true;
  const std::vector<std::string> there_are = simd_targets();
  std::int64_t allowed = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (allowed != 0 || name == plain_name(target) || name == there_are.front()) allowed |= target;
  }
  if (allowed == 0) {
    throw Error(ErrorKind::kUsage, "instruction set '{}' is not one of this machine's: {}", name,
                fmt::join(there_are, ", "));
  }
  vnni_allowed = name == kVnni;
  hwy::SetSupportedTargetsForTest(allowed);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace meanwhile::base
