#include "meanwhile/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace meanwhile::base {

int hardware_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { serve(i); });
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(std::int64_t tasks, const Task& task) {
  {
    MutexLock lock(mutex_);
    task_ = &task;
    next_ = 0;
    tasks_ = tasks;
    failure_ = nullptr;
    busy_ = static_cast<int>(threads_.size());
    ++run_;
  }
  start_.notify_all();
  take_tasks(0);
  MutexLock lock(mutex_);
  while (busy_ > 0) end_.wait(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::serve(int thread) {
  std::uint64_t seen = 0;
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!ending_ && run_ == seen) start_.wait(mutex_);
      if (ending_) return;
      seen = run_;
    }
    take_tasks(thread);
    {
      MutexLock lock(mutex_);
      --busy_;
    }
    end_.notify_one();
  }
}

void ThreadPool::take_tasks(int thread) {
  for (;;) {
    std::int64_t mine;
    const Task* task;
    {
      MutexLock lock(mutex_);
      if (next_ >= tasks_) return;
      mine = next_++;
      task = task_;
    }
    try {
      (*task)(mine, thread);
    } catch (...) {
      MutexLock lock(mutex_);
      if (!failure_ || mine < failed_task_) {
        failure_ = std::current_exception();
        failed_task_ = mine;
      }
      next_ = tasks_;
    }
  }
}

}  // namespace meanwhile::base
