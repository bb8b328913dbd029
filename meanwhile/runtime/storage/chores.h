// Things to be done beside the work, one after the other, on a thread of their own.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "meanwhile/runtime/storage/pace.h"

namespace meanwhile::runtime {

class Chores {
 public:
  Chores() : thread_([this] { run(); }) {}
  ~Chores() { stop(); }
  // What has not begun is left undone.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    bell_.ring();
    if (thread_.joinable()) thread_.join();
  }
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

  void add(std::function<void()> chore) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(chore));
    }
    bell_.ring();
  }
  // Whether all that was added is done.
  bool idle() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && !busy_;
  }
  // THROWS what a chore threw.
  void check() const {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }
  // Waits until all that was added is done. THROWS as check().
  void finish() {
    for (;;) {
      const std::uint64_t mark = done_.mark();
      check();
      if (idle()) return;
      done_.wait(mark, 1);
    }
  }

 private:
  void run() {
    for (;;) {
      const std::uint64_t mark = bell_.mark();
      std::function<void()> chore;
      {
        const std::lock_guard lock(mutex_);
        if (ended_) return;
        busy_ = !waiting_.empty();
        if (busy_) {
          chore = std::move(waiting_.front());
          waiting_.pop_front();
        }
      }
      if (!chore) {
        bell_.wait(mark, 3600);
        continue;
      }
      std::exception_ptr failure;
      try {
        chore();
      } catch (...) {
        failure = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        busy_ = false;
        if (failure) failure_ = failure;
      }
      done_.ring();
    }
  }

  mutable std::mutex mutex_;  // guards what follows, up to ended_
  std::deque<std::function<void()>> waiting_;
  bool busy_ = false;
  std::exception_ptr failure_;
  bool ended_ = false;
  Bell bell_, done_;
  std::thread thread_;
};

}  // namespace meanwhile::runtime
