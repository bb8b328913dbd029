#include "meanwhile/base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace meanwhile::base {
namespace {

class Counter {
 public:
  void add(int n) {
    MutexLock lock(mutex_);
    count_ += n;
    changed_.notify_all();
  }
  void wait_for(int n) {
    MutexLock lock(mutex_);
    while (count_ < n) changed_.wait(mutex_);
  }
  // Whether the count reached n in time.
  bool wait_until(int n, std::chrono::steady_clock::time_point until) {
    MutexLock lock(mutex_);
    while (count_ < n && std::chrono::steady_clock::now() < until) {
      changed_.wait_until(mutex_, until);
    }
    return count_ >= n;
  }
#ifdef MEANWHILE_UNGUARDED
  // scripts/test.sh defines this and expects clang to refuse the file.
  int unguarded() const { return count_; }
#endif

 private:
  Mutex mutex_;
  Condition changed_;
  int count_ MW_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, HoldsOneThreadAtATimeAndWakesWaiters) {
  constexpr int kThreads = 4, kTimes = 1000;
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kTimes; ++n) counter.add(1);
    });
  }
  counter.wait_for(kThreads * kTimes);
  for (std::thread& thread : threads) thread.join();
  const auto now = std::chrono::steady_clock::now();
  EXPECT_TRUE(counter.wait_until(kThreads * kTimes, now));
  EXPECT_FALSE(counter.wait_until(kThreads * kTimes + 1, now));
}

TEST(Mutex, WaitEndsAtItsDeadlineAndStillHoldsTheMutex) {
  Counter counter;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  EXPECT_FALSE(counter.wait_until(1, until));
  EXPECT_GE(std::chrono::steady_clock::now(), until);
  counter.add(1);  // would wait for ever if the mutex had stayed locked
  counter.wait_for(1);
}

}  // namespace
}  // namespace meanwhile::base
