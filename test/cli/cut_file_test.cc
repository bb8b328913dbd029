#include "meanwhile/cli/output/cut_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/base/file.h"
#include "test/temporary_folder.h"

namespace meanwhile::cli {
namespace {

constexpr int kThreads = 16;

// Threads of a job meet the missing pages together.
void touch_a_cut_file(const std::filesystem::path& path) {
  report_cut_files(7);
  const base::MappedFile file(path);
  std::filesystem::resize_file(path, 0);
  std::barrier together(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      const volatile std::byte* first = file.bytes().data();
      static_cast<void>(*first);
    });
  }
}

TEST(CutFile, IsNamedOnceByManyThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TemporaryFolder folder;
  for (int i = 0; i < 20; ++i) {
    const auto path = folder / "rows";
    base::write_file(path, std::string(8192, 'x'));
    EXPECT_EXIT(touch_a_cut_file(path), testing::ExitedWithCode(7),
                testing::AllOf(testing::StartsWith("meanwhile: "),
                               testing::EndsWith(
                                   "rows: was cut short while it was in use, or cannot be read\n"),
                               testing::Not(testing::HasSubstr("\nmeanwhile"))));
  }
}

}  // namespace
}  // namespace meanwhile::cli
