// How long to wait before a store is asked again. Time is passed in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "meanwhile/base/mutex.h"

namespace meanwhile::runtime {

// When to ask for a blob that is awaited. Rounds are much alike, so the first look is after the
// time it took the last time, or half of it where a look in vain can be afforded. Each wait after
// that is longer than the one before: a blob that comes soon is seen soon, and one that takes long
// is asked for seldom.
class Pace {
 public:
  static constexpr double kFirstSeconds = 0.002, kMostSeconds = 0.5, kGrowth = 1.5;
  static constexpr double kLongSeconds = 0.2;

  // The waiting begins.
  void begin(double now_s, bool can_afford) {
    begin_s_ = now_s;
    wait_s_ = std::clamp(usual_s_ / 16, kFirstSeconds, kMostSeconds);
    due_s_ = begin_s_ + std::min(usual_s_ * (can_afford ? 0.5 : 1), kMostSeconds);
    first_ = true;
    can_afford_ = can_afford;
  }
  // The same, but the first look is now.
  void begin_now(double now_s) {
    begin(now_s, true);
    due_s_ = now_s;
  }
  double due_s() const { return due_s_; }
  bool due(double now_s) const { return now_s >= due_s_; }
  // The blob was not there. `least_s`: do not look again before.
  void missed(double now_s, double least_s = 0) {
    due_s_ = now_s + std::max(least_s, next());
    first_ = false;
  }
  // Some of what is awaited was there, and more is to come.
  void partly() { wait_s_ = kFirstSeconds; }
  // All of it was there. A blob that is there at the first look may have been there for long: the
  // next first look is a little sooner, and much sooner after a long wait, so that one slow round
  // does not make the rounds after it slow.
  void arrived(double now_s) {
    usual_s_ = now_s - begin_s_;
    if (first_) usual_s_ *= can_afford_ ? 0.5 : usual_s_ > kLongSeconds ? 0.6 : 0.9;
  }

  // The next wait, for a caller with a loop of its own.
  double next() {
    const double wait_s = wait_s_;
    wait_s_ = std::min(kMostSeconds, wait_s_ * kGrowth);
    return wait_s;
  }

 private:
  double usual_s_ = 0, begin_s_ = 0, due_s_ = 0;
  double wait_s_ = kFirstSeconds;
  bool first_ = true;  // no look yet since begin()
  bool can_afford_ = true;
};

// At most so many polls for each task held and second, on average: polls saved while there is work
// may be spent when there is none. Thread safety: any thread.
class PollBudget {
 public:
  static constexpr double kSavedSeconds = 5, kPlenty = 10;

  PollBudget(double polls_per_task, double now_s)
      : polls_per_task_(polls_per_task),
        rate_(polls_per_task),
        saved_(polls_per_task),
        at_s_(now_s) {}

  void set_tasks(double now_s, int tasks) MW_EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    refill(now_s);
    rate_ = polls_per_task_ * std::max(1, tasks);
  }
  // Counts a poll. Returns how long to wait before the next is within the budget.
  double spend(double now_s) MW_EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    refill(now_s);
    saved_ = std::max(saved_ - 1, -rate_);
    ++polls_;
    return saved_ >= 1 ? 0 : (1 - saved_) / rate_;
  }
  // Whether there is enough for a while.
  bool rich(double now_s) MW_EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    refill(now_s);
    return saved_ > std::min(rate_, kPlenty);
  }
  std::int64_t polls() const MW_EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    return polls_;
  }

 private:
  // Activities tell their own time, which may be a little behind another's.
  void refill(double now_s) MW_REQUIRES(mutex_) {
    saved_ = std::min(saved_ + std::max(0.0, now_s - at_s_) * rate_, rate_ * kSavedSeconds);
    at_s_ = std::max(at_s_, now_s);
  }

  const double polls_per_task_;
  mutable base::Mutex mutex_;
  double rate_ MW_GUARDED_BY(mutex_), saved_ MW_GUARDED_BY(mutex_), at_s_ MW_GUARDED_BY(mutex_);
  std::int64_t polls_ MW_GUARDED_BY(mutex_) = 0;
};

}  // namespace meanwhile::runtime
