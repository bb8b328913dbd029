// Uploads of a worker beside its work, one after the other: states, metrics, removals.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <utility>

#include "meanwhile/base/mutex.h"
#include "meanwhile/runtime/storage/activity.h"

namespace meanwhile::runtime {

// Thread safety: any thread.
class Uploads {
 public:
  // Wakes Activity::kUpload when there is something to do, and Activity::kRounds when all is done.
  explicit Uploads(Environment& environment) : environment_(environment) {}
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  void add(std::function<void()> upload) MW_EXCLUDES(mutex_);
  // Whether everything that was added is done.
  bool idle() const MW_EXCLUDES(mutex_);

  // Activity::kUpload: does one.
  Wait step(double now_s) MW_EXCLUDES(step_mutex_, mutex_);
  // Returns when no step is running; uploads that have not begun are left undone.
  void stop() MW_EXCLUDES(step_mutex_, mutex_);
  // THROWS the error of an upload.
  void check() const MW_EXCLUDES(mutex_);

 private:
  Environment& environment_;
  base::Mutex step_mutex_ MW_ACQUIRED_BEFORE(mutex_);  // one step at a time
  mutable base::Mutex mutex_;
  std::deque<std::function<void()>> waiting_ MW_GUARDED_BY(mutex_);
  bool busy_ MW_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ MW_GUARDED_BY(mutex_);
  bool ended_ MW_GUARDED_BY(mutex_) = false;
};

}  // namespace meanwhile::runtime
