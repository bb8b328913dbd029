// Work of the library on a thread of its own, so that the thread of the caller, which alone may
// look at Python's signals, stays free to look.
//
// The caller waits without the interpreter's lock. It takes the lock every 20 ms for signals, and
// for what the work asks it to do. What Python raises sets the flag to stop, and is raised once
// the work has ended: nothing of the work outlives the call.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/threads.h"

namespace meanwhile::python {

class __attribute__((visibility("hidden"))) Watch {
 public:
  // Called with the interpreter's lock. THROWS what Python raised meanwhile, else what `work`
  // throws.
  void run(const std::function<void()>& work);
  // Has the caller of run() call `call` with the interpreter's lock, and waits for that; nothing
  // once Python has raised. For `work`.
  void on_caller(const std::function<void()>& call);

  void request_stop() { stop_ = true; }
  const std::atomic<bool>* stop() const { return &stop_; }

 private:
  void wait();
  void answer();
  void look_for_signals();
  void keep_raised();

  std::atomic<bool> stop_ = false;
  std::exception_ptr raised_;  // of the caller's thread

  base::Mutex mutex_;
  base::Condition changed_;
  const std::function<void()>* call_ MW_GUARDED_BY(mutex_) = nullptr;  // that the work waits for
  bool done_ MW_GUARDED_BY(mutex_) = false;
};

// Runs work(threads) so that Ctrl-C ends it. `bytes`: of the rows: work on few of them ends sooner
// than a key is pressed, and the caller does it. `threads`: 0: all the process may run on.
void interruptible(std::int64_t bytes, int threads, const std::function<void(base::Threads)>& work);

}  // namespace meanwhile::python
