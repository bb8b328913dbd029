// Waiting: how long before a store is asked again.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "meanwhile/base/trace.h"

namespace meanwhile::service {

// Each wait is longer than the one before, so that what comes soon is seen soon, and what takes
// long is asked for seldom: the delay is a fraction of what was waited anyway.
class Pace {
 public:
  static constexpr double kFirstSeconds = 0.002, kMostSeconds = 0.5, kGrowth = 1.5;

  // The next wait.
  double next() {
    const double now = wait_s_;
    wait_s_ = std::min(kMostSeconds, wait_s_ * kGrowth);
    return now;
  }
  void reset() { wait_s_ = kFirstSeconds; }

 private:
  double wait_s_ = kFirstSeconds;
};

// At most kPolls for each task held and second, on average: what is saved while there is work may
// be spent when there is not. Thread safety: any thread.
class PollBudget {
 public:
  static constexpr double kPolls = 2, kSavedSeconds = 5;

  void set_tasks(int tasks) {
    const std::lock_guard lock(mutex_);
    refill();
    rate_ = kPolls * std::max(1, tasks);
  }
  // Counts a poll. Returns how long to wait before the next is within the budget.
  double spend() {
    const std::lock_guard lock(mutex_);
    refill();
    saved_ -= 1;
    ++polls_;
    return saved_ >= 1 ? 0 : (1 - saved_) / rate_;
  }
  std::int64_t polls() const {
    const std::lock_guard lock(mutex_);
    return polls_;
  }

 private:
  void refill() {
    const double now = base::now_s();
    saved_ = std::min(saved_ + (now - at_s_) * rate_, rate_ * kSavedSeconds);
    at_s_ = now;
  }

  mutable std::mutex mutex_;  // guards everything below
  double rate_ = kPolls, saved_ = 4;
  double at_s_ = base::now_s();
  std::int64_t polls_ = 0;
};

// Wakes whoever waits. Thread safety: any thread.
class Bell {
 public:
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      ++rung_;
    }
    waiting_.notify_all();
  }
  // A mark to give to wait(), so that no ring between looking and waiting is missed.
  std::uint64_t mark() const {
    const std::lock_guard lock(mutex_);
    return rung_;
  }
  // Until somebody rings after `mark`, or `seconds` have passed.
  void wait(std::uint64_t mark, double seconds) {
    std::unique_lock lock(mutex_);
    waiting_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return rung_ != mark; });
  }

 private:
  mutable std::mutex mutex_;  // guards rung_
  std::condition_variable waiting_;
  std::uint64_t rung_ = 0;
};

}  // namespace meanwhile::service
