#include "meanwhile/base/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
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

TEST_P(ThreadPoolOfSize, StartsNoTaskOnceItIsToStop) {
  std::atomic<bool> stop = false;
  ThreadPool pool({GetParam(), &stop});
  std::atomic<int> runs = 0;
  try {
    pool.run(1'000'000, [&](std::int64_t, int) { stop = ++runs >= 5; });
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInterrupted);
  }
  EXPECT_LT(runs, 1000);
}

TEST(Threads, AreNoMoreThanTasksAndAtLeastOne) {
  std::atomic<bool> stop = true;
  const Threads four(4, &stop);
  EXPECT_EQ(four.at_most(7).count, 4);
  EXPECT_EQ(four.at_most(3).count, 3);
  EXPECT_EQ(four.at_most(0).count, 1);
  EXPECT_TRUE(four.at_most(3).stop.requested());
  EXPECT_FALSE(Threads(4).stop.requested());
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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MW_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MW_SANITIZED 1
#endif
#endif
#ifndef MW_SANITIZED  // which cannot live with little memory

// Address space for some of the threads, in a process of its own. Returns its exit code.
template <class Body>
int with_little_memory(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (256 << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    alarm(60);  // a process that hangs is ended
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ThreadPool, SaysAtOnceThatThreadsCannotBeMade) {
  const int code = with_little_memory([] {
    try {
      ThreadPool pool(1000);
    } catch (const Error& e) {
      const std::string message = e.what();
      return message.starts_with("cannot start 999 threads: ") ? 7 : 8;
    }
    return 9;
  });
  EXPECT_EQ(code, 7);
}

TEST(StartThreads, JoinsThoseThatRunWhenOneCannotBeMade) {
  const int code = with_little_memory([] {
    std::atomic<bool> stop = false;
    std::atomic<int> ran = 0, returned = 0;
    const auto body = [&](int) {
      ++ran;
      stop.wait(false);
      ++returned;
    };
    try {
      start_threads(1000, body, [&] {
        stop = true;
        stop.notify_all();
      });
    } catch (const Error& e) {
      return e.kind() == ErrorKind::kSystem && ran == returned ? 7 : 8;
    }
    return 9;
  });
  EXPECT_EQ(code, 7);
}

#endif

}  // namespace
}  // namespace meanwhile::base
