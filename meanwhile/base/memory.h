// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace meanwhile::base {

// The smallest limit of the cgroups in `proc_cgroup` (the text of /proc/self/cgroup) and of those
// above them, found below `root` (/sys/fs/cgroup); 0 when there is none. Versions 1 and 2.
std::int64_t cgroup_limit_bytes(std::string_view proc_cgroup, const std::filesystem::path& root);

// The smaller of the machine's memory and the limit of this process's cgroups.
std::int64_t memory_bytes();

}  // namespace meanwhile::base
