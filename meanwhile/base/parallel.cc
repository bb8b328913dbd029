#include "meanwhile/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "meanwhile/base/error.h"

namespace meanwhile::base {

int hardware_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::vector<std::thread> start_threads(int count, const std::function<void(int)>& body,
                                       const std::function<void()>& stop) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(std::max(0, count)));
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  } catch (const std::exception& e) {
    const auto* refused = dynamic_cast<const std::system_error*>(&e);
    stop();
    for (std::thread& thread : threads) thread.join();
    throw Error(ErrorKind::kSystem, "cannot start {} threads: {} could be started: {}", count,
                threads.size(), refused != nullptr ? refused->code().message() : e.what());
  }
  return threads;
}

ThreadPool::ThreadPool(Threads threads)
    : stop_(threads.stop),
      threads_(start_threads(
          threads.count - 1, [this](int i) { serve(i + 1); }, [this] { end(); })) {}

ThreadPool::~ThreadPool() {
  end();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::end() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  start_.notify_all();
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
      stop_.check();
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
