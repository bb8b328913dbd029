#include "meanwhile/base/memory.h"

#include <gtest/gtest.h>

#include "meanwhile/base/file.h"
#include "test/job/toy_learner.h"

namespace meanwhile::base {
namespace {

void put(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  base::write_file(path, text);
}

TEST(CgroupLimit, IsTheSmallestOfTheGroupAndThoseAboveIt) {
  const std::filesystem::path root = job::fresh_path("cgroup");
  put(root / "memory.max", "max\n");
  put(root / "a/memory.max", "5000\n");
  put(root / "a/b/memory.max", "7000\n");
  EXPECT_EQ(cgroup_limit_bytes("0::/a/b\n", root), 5000);
  EXPECT_EQ(cgroup_limit_bytes("0::/\n", root), 0);
  EXPECT_EQ(cgroup_limit_bytes("", root), 0);
}

TEST(CgroupLimit, IsFoundInVersionOne) {
  const std::filesystem::path root = job::fresh_path("cgroup");
  put(root / "memory/memory.limit_in_bytes", "9223372036854771712\n");
  put(root / "memory/box/memory.limit_in_bytes", "4096\n");
  const std::string groups = "9:cpu:/box\n4:memory:/box\n0::/\n";
  EXPECT_EQ(cgroup_limit_bytes(groups, root), 4096);
  EXPECT_EQ(cgroup_limit_bytes("4:memory:/not/visible/here", root), 0);
}

TEST(MemoryBytes, IsSome) { EXPECT_GT(memory_bytes(), 1 << 20); }

}  // namespace
}  // namespace meanwhile::base
