// A mutex, a lock and a condition that clang's thread-safety analysis understands: those of the
// standard library carry no annotations. A class names what its mutex guards:
//
//   base::Mutex mutex_;
//   base::Condition changed_;
//   std::deque<Task> tasks_ MW_GUARDED_BY(mutex_);
//
//   base::MutexLock lock(mutex_);
//   while (tasks_.empty()) changed_.wait(mutex_);
//
// A wait stands in a loop in the function that holds the lock, because the analysis does not look
// from a lambda at the locks around it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "meanwhile/base/thread_annotations.h"

namespace meanwhile::base {

class MW_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() MW_ACQUIRE() { mutex_.lock(); }
  void unlock() MW_RELEASE() { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Holds a mutex from here to the end of the block.
class MW_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MW_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() MW_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Threads wait here, without the mutex, until another thread notifies them. Any wait may also end
// for no reason. Thread safety: any thread; notify with or without the mutex.
class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait(Mutex& mutex) MW_REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    condition_.wait(lock.held);
  }

  // Returns at `until` at the latest.
  void wait_until(Mutex& mutex, std::chrono::steady_clock::time_point until) MW_REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    condition_.wait_until(lock.held, until);
  }

  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  // Lends a mutex that the caller holds to the standard condition, and leaves it held.
  struct Adopted {
    explicit Adopted(std::mutex& mutex) : held(mutex, std::adopt_lock) {}
    ~Adopted() { held.release(); }
    std::unique_lock<std::mutex> held;
  };
  std::condition_variable condition_;
};

}  // namespace meanwhile::base
