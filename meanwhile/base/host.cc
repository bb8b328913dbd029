#include "meanwhile/base/host.h"

#include <fmt/chrono.h>

#include <charconv>
#include <ctime>
#include <fstream>

#include "meanwhile/base/memory.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/base/version.h"

namespace meanwhile::base {

namespace {

// The rest of the first line of `file` that begins with `key`, without what is between them.
std::string line_after(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(": \t", key.size());
    return begin == line.npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

Json machine() {
  return {{"cpu", line_after("/proc/cpuinfo", "model name")},
          {"threads", base::hardware_threads()},
          {"simd", base::simd_target()},
          {"memory_bytes", base::memory_bytes()}};
}

Json versions() {
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "gcc " __VERSION__;
#endif
  return {{"meanwhile", base::kVersion}, {"compiler", compiler}};
}

std::int64_t peak_rss_bytes() {
  // getrusage() would count what was resident before exec, too.
  const std::string text = line_after("/proc/self/status", "VmHWM");
  std::int64_t kibibytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), kibibytes);
  return kibibytes * 1024;
}

std::string iso_time() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace meanwhile::base
