#include "meanwhile/python/watch.h"

#include <chrono>

#include "meanwhile/base/parallel.h"
#include "meanwhile/python/values.h"

namespace meanwhile::python {

namespace nb = nanobind;

namespace {

constexpr std::chrono::milliseconds kTick{20};
constexpr std::int64_t kFewBytes = 1 << 16;

}  // namespace

void Watch::run(const std::function<void()>& work) {
  std::exception_ptr thrown;
  const auto body = [&](int) {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    const base::MutexLock lock(mutex_);
    done_ = true;
    changed_.notify_all();
  };
  {
    const nb::gil_scoped_release release;
    const base::JoinThreads join(base::start_threads(1, body, [] {}));
    wait();
  }
  if (raised_) std::rethrow_exception(raised_);
  if (thrown) std::rethrow_exception(thrown);
}

void Watch::on_caller(const std::function<void()>& call) {
  const base::MutexLock lock(mutex_);
  call_ = &call;
  changed_.notify_all();
  while (call_ != nullptr) changed_.wait(mutex_);
}

void Watch::wait() {
  auto tick = std::chrono::steady_clock::now() + kTick;
  for (;;) {
    bool is_asked = false;
    {
      const base::MutexLock lock(mutex_);
      while (!done_ && call_ == nullptr && std::chrono::steady_clock::now() < tick) {
        changed_.wait_until(mutex_, tick);
      }
      if (done_) return;
      is_asked = call_ != nullptr;
    }
    if (is_asked) answer();
    if (std::chrono::steady_clock::now() < tick) continue;
    look_for_signals();
    tick = std::chrono::steady_clock::now() + kTick;
  }
}

void Watch::answer() {
  const std::function<void()>* call = nullptr;
  {
    const base::MutexLock lock(mutex_);
    call = call_;
  }
  if (!raised_) {
    const nb::gil_scoped_acquire acquire;
    try {
      (*call)();
    } catch (...) {
      keep_raised();
    }
  }
  const base::MutexLock lock(mutex_);
  call_ = nullptr;
  changed_.notify_all();
}

void Watch::look_for_signals() {
  if (raised_) return;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return;
  try {
    throw nb::python_error();
  } catch (...) {
    keep_raised();
  }
}

// Called from a handler.
void Watch::keep_raised() {
  raised_ = std::current_exception();
  stop_ = true;
}

void interruptible(std::int64_t bytes, int threads,
                   const std::function<void(base::Threads)>& work) {
  const int count = all_if_zero(threads);
  if (bytes <= kFewBytes) {
    const nb::gil_scoped_release release;
    return work(count);
  }
  Watch watch;
  watch.run([&] { work({count, watch.stop()}); });
}

}  // namespace meanwhile::python
