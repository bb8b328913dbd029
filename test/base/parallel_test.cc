#include "meanwhile/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::base {
namespace {

class ThreadPoolOfSize : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolOfSize, RunsEveryTaskOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  for (const std::int64_t tasks : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
    pool.run(tasks, [&](std::int64_t task, int thread) {
      EXPECT_GE(thread, 0);
      EXPECT_LT(thread, pool.size());
      ++runs[static_cast<std::size_t>(task)];
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST_P(ThreadPoolOfSize, WhatAThreadOwnsNeedsNoLock) {
  ThreadPool pool(GetParam());
  std::vector<std::int64_t> sums(static_cast<std::size_t>(pool.size()));
  pool.run(10'000,
           [&](std::int64_t task, int thread) { sums[static_cast<std::size_t>(thread)] += task; });
  std::int64_t total = 0;
  for (const std::int64_t sum : sums) total += sum;
  EXPECT_EQ(total, 10'000 * 9'999 / 2);
}

TEST_P(ThreadPoolOfSize, CarriesTheFailureOfTheLowestTaskOutAndStartsNoMore) {
  ThreadPool pool(GetParam());
  std::atomic<std::int64_t> last = 0;
  try {
    pool.run(1'000'000, [&](std::int64_t task, int) {
      std::int64_t seen = last;
      while (seen < task && !last.compare_exchange_weak(seen, task)) {
      }
      if (task >= 5) throw Error(ErrorKind::kFailed, "task {}", task);
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "task 5");
  }
  EXPECT_LT(last, 1000);
}

TEST_P(ThreadPoolOfSize, WorksAgainAfterAFailure) {
  ThreadPool pool(GetParam());
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_THROW(pool.run(8, [](std::int64_t, int) { throw std::runtime_error("no"); }),
                 std::runtime_error);
    std::atomic<int> runs = 0;
    pool.run(100, [&](std::int64_t, int) { ++runs; });
    EXPECT_EQ(runs, 100);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOfSize, testing::Values(1, 2, 3, 5, 8),
                         [](const auto& size) { return std::to_string(size.param); });

TEST(HardwareThreads, IsAtLeastOne) { EXPECT_GE(hardware_threads(), 1); }

}  // namespace
}  // namespace meanwhile::base
