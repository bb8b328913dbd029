// Waiting: how long before a store is asked again.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "meanwhile/base/clock.h"

namespace meanwhile::runtime {

// When to ask for what is awaited. Rounds are much alike, so the first look is after the time it
// took the last time, or half of it where a look in vain can be afforded; then each wait is longer
// than the one before: what comes soon is seen soon, and what takes long is asked for seldom.
class Pace {
 public:
  static constexpr double kFirstSeconds = 0.002, kMostSeconds = 0.5, kGrowth = 1.5;
  static constexpr double kLongSeconds = 0.2;

  // The waiting begins.
  void begin(bool can_afford) {
    begin_s_ = base::now_s();
    wait_s_ = std::clamp(usual_s_ / 16, kFirstSeconds, kMostSeconds);
    due_s_ = begin_s_ + std::min(usual_s_ * (can_afford ? 0.5 : 1), kMostSeconds);
    first_ = true;
    can_afford_ = can_afford;
  }
  // The same, but the first look is now.
  void begin_now() {
    begin(true);
    due_s_ = 0;
  }
  double due_s() const { return due_s_; }
  bool due() const { return base::now_s() >= due_s_; }
  // It was not there. `least_s`: not again before.
  void missed(double least_s = 0) {
    due_s_ = base::now_s() + std::max(least_s, next());
    first_ = false;
  }
  // It was there, or some of it, and more is to come.
  void partly() { wait_s_ = kFirstSeconds; }
  // What was there at the first look may have been there for long: the next one is a little sooner,
  // and much sooner after a long wait, so that one slow round does not make those after it slow.
  void arrived() {
    usual_s_ = base::now_s() - begin_s_;
    if (first_) usual_s_ *= can_afford_ ? 0.5 : usual_s_ > kLongSeconds ? 0.6 : 0.9;
  }

  // The next wait, for who asks in a loop of his own.
  double next() {
    const double now = wait_s_;
    wait_s_ = std::min(kMostSeconds, wait_s_ * kGrowth);
    return now;
  }

 private:
  double usual_s_ = 0, begin_s_ = 0, due_s_ = 0;
  double wait_s_ = kFirstSeconds;
  bool first_ = true;  // no look yet since begin()
  bool can_afford_ = true;
};

// At most so many polls for each task held and second, on average: what is saved while there is
// work may be spent when there is not. Thread safety: any thread.
class PollBudget {
 public:
  static constexpr double kSavedSeconds = 5, kPlenty = 10;

  explicit PollBudget(double polls) : polls_per_task_(polls), rate_(polls), saved_(polls) {}

  void set_tasks(int tasks) {
    const std::lock_guard lock(mutex_);
    refill();
    rate_ = polls_per_task_ * std::max(1, tasks);
  }
  // Counts a poll. Returns how long to wait before the next is within the budget.
  double spend() {
    const std::lock_guard lock(mutex_);
    refill();
    saved_ = std::max(saved_ - 1, -rate_);
    ++polls_;
    return saved_ >= 1 ? 0 : (1 - saved_) / rate_;
  }
  // Whether there is enough for a while.
  bool rich() {
    const std::lock_guard lock(mutex_);
    refill();
    return saved_ > std::min(rate_, kPlenty);
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

  const double polls_per_task_;
  mutable std::mutex mutex_;  // guards everything below
  double rate_, saved_;
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

}  // namespace meanwhile::runtime
