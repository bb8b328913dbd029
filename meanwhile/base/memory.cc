#include "meanwhile/base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace meanwhile::base {

namespace {

// The number in a limit file. Version 2 says "max" for no limit, version 1 a number near 2^63.
std::int64_t limit_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  std::int64_t limit = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), limit);
  const bool number = error == std::errc() && end == word.data() + word.size();
  return number && limit < (std::int64_t{1} << 60) ? limit : 0;
}

void take_smaller(std::int64_t& smallest, std::int64_t limit) {
  if (limit > 0 && (smallest == 0 || limit < smallest)) smallest = limit;
}

}  // namespace

std::int64_t cgroup_limit_bytes(std::string_view proc_cgroup, const std::filesystem::path& root) {
  std::int64_t smallest = 0;
  while (!proc_cgroup.empty()) {
    const std::size_t end = proc_cgroup.find('\n');
    const std::string_view line = proc_cgroup.substr(0, end);
    proc_cgroup.remove_prefix(end == line.npos ? proc_cgroup.size() : end + 1);
    // A line is "ID:CONTROLLERS:/PATH"; version 2 has no controllers.
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos || second + 1 >= line.size()) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const bool v2 = controllers.empty();
    const std::filesystem::path top = v2 ? root : root / "memory";
    const char* file = v2 ? "memory.max" : "memory.limit_in_bytes";
    // Inside a container the path may name a group that is not visible; the top then is its own.
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (;;) {
      take_smaller(smallest, limit_in(top / group / file));
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return smallest;
}

std::int64_t memory_bytes() {
  std::int64_t bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  std::ifstream in("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(in), {}};
  take_smaller(bytes, cgroup_limit_bytes(groups, "/sys/fs/cgroup"));
  return bytes;
}

}  // namespace meanwhile::base
