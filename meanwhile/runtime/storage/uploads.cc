#include "meanwhile/runtime/storage/uploads.h"

namespace meanwhile::runtime {

void Uploads::add(std::function<void()> upload) {
  {
    base::MutexLock lock(mutex_);
    waiting_.push_back(std::move(upload));
  }
  environment_.wake(Activity::kUpload);
}

bool Uploads::idle() const {
  base::MutexLock lock(mutex_);
  return waiting_.empty() && !busy_;
}

void Uploads::check() const {
  base::MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void Uploads::stop() {
  {
    base::MutexLock lock(mutex_);
    ended_ = true;
  }
  base::MutexLock no_step_runs(step_mutex_);
}

Wait Uploads::step(double now_s) {
  base::MutexLock one_at_a_time(step_mutex_);
  std::function<void()> upload;
  {
    base::MutexLock lock(mutex_);
    if (ended_) return {Awaits::kEnd, kNever};
    if (waiting_.empty()) return {Awaits::kWake, kNever};
    upload = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
  }
  std::exception_ptr failure;
  try {
    upload();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    base::MutexLock lock(mutex_);
    busy_ = false;
    if (failure) failure_ = failure;
  }
  environment_.wake(Activity::kRounds);
  return {Awaits::kNothing, now_s};
}

}  // namespace meanwhile::runtime
