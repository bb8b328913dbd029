// How much memory this process holds, and the most it held.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace meanwhile::data {

// Cost of a byte at most: ThreadSanitizer keeps shadows of it, which count as well.
#if defined(__SANITIZE_THREAD__)
inline constexpr int kMemoryFactor = 8;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr int kMemoryFactor = 8;
#else
inline constexpr int kMemoryFactor = 1;
#endif
#else
inline constexpr int kMemoryFactor = 1;
#endif

// A line of /proc/self/status, in bytes: "VmRSS", "VmHWM".
inline std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

// The most memory that `call` held at once beyond what was held before.
template <class Call>
std::int64_t peak_bytes_of(Call&& call) {
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the peak
  const std::int64_t before = status_bytes("VmRSS");
  call();
  return status_bytes("VmHWM") - before;
}

}  // namespace meanwhile::data
