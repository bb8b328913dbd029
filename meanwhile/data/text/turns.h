// Chunks that several threads make at the same time, and that take their places in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

namespace meanwhile::data {

// Thread safety: any number of calls at the same time.
class Turns {
 public:
  // Runs `step` when the steps of all lower numbers from 0 on have run; no two run at the same
  // time. False if a step before it failed, or this one does: its exception is kept, and no other
  // step runs. Every number is used once.
  template <class Step>
  bool run(std::int64_t number, const Step& step) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || next_ == number; });
    if (stopped_) return false;
    try {
      step();
      ++next_;
    } catch (...) {
      failure_ = std::current_exception();
      stopped_ = true;
    }
    const bool ran = !stopped_;
    lock.unlock();
    changed_.notify_all();
    return ran;
  }

  bool stopped() const { return stopped_; }
  // Throws the exception that was kept. REQUIRES: no other call is going on.
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t next_ = 0;
  std::atomic<bool> stopped_ = false;  // set under mutex_
  std::exception_ptr failure_;
};

}  // namespace meanwhile::data
