// A fixed set of threads that runs numbered tasks and carries the first exception out.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/threads.h"

namespace meanwhile::base {

// Threads the machine offers to this process (its CPU affinity mask), at least 1.
int hardware_threads();

// Starts `count` threads; thread i runs body(i), which must not throw. When one cannot be made,
// calls `stop`, which makes the others return, joins them, and THROWS Error(kSystem) "cannot start
// N threads". Every thread of the library is made here: a std::thread that is joinable, or that
// waits on a condition, when an exception destroys it ends the program or stops it for ever.
std::vector<std::thread> start_threads(int count, const std::function<void(int)>& body,
                                       const std::function<void()>& stop);

// Joins its threads when the block ends, also by an exception.
class JoinThreads {
 public:
  explicit JoinThreads(std::vector<std::thread> threads) : threads_(std::move(threads)) {}
  ~JoinThreads() {
    for (std::thread& thread : threads_) thread.join();
  }
  JoinThreads(const JoinThreads&) = delete;
  JoinThreads& operator=(const JoinThreads&) = delete;

 private:
  std::vector<std::thread> threads_;
};

// Thread safety: run() is called by one thread at a time, never from inside a task.
class ThreadPool {
 public:
  // `task` is in [0, tasks), `thread` in [0, size()): what is indexed by `thread` needs no lock.
  using Task = std::function<void(std::int64_t task, int thread)>;

  // REQUIRES: threads >= 1. The caller of run() is one of them. THROWS as start_threads().
  explicit ThreadPool(Threads threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Runs every task once, started in order of number, and returns when all have ended. After a task
  // throws no new one starts, and the exception of the lowest-numbered failed task is thrown here.
  // THROWS Error(kInterrupted) between tasks once the flag of the threads asks to stop.
  void run(std::int64_t tasks, const Task& task);

 private:
  void end();
  void serve(int thread);
  void take_tasks(int thread);

  Mutex mutex_;
  Condition start_, end_;
  const Task* task_ MW_GUARDED_BY(mutex_) = nullptr;
  std::int64_t next_ MW_GUARDED_BY(mutex_) = 0, tasks_ MW_GUARDED_BY(mutex_) = 0;
  std::int64_t failed_task_ MW_GUARDED_BY(mutex_) = 0;
  std::exception_ptr failure_ MW_GUARDED_BY(mutex_);
  int busy_ MW_GUARDED_BY(mutex_) = 0;  // threads of threads_ that have not finished this run
  std::uint64_t run_ MW_GUARDED_BY(mutex_) =
      0;  // counts runs, so that a thread joins each one once
  bool ending_ MW_GUARDED_BY(mutex_) = false;

  const Stop stop_;
  std::vector<std::thread> threads_;  // last: they use all of the above from their first moment
};

}  // namespace meanwhile::base
