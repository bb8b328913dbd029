#include "meanwhile/python/session.h"

#include <chrono>
#include <utility>

#include "meanwhile/base/parallel.h"
#include "meanwhile/job/round_log.h"
#include "meanwhile/python/values.h"
#include "meanwhile/runtime/threads.h"

namespace meanwhile::python {

namespace {

constexpr std::chrono::milliseconds kTick{50};

base::Json line_of(const job::RoundEvent& event) {
  base::Json line;
  if (event.outcome.phase == learn::Phase::kTrain) {
    line["round"] = event.round;
  } else {
    line["phase"] = event.outcome.phase == learn::Phase::kScore ? "score" : "prepare";
  }
  line["objective"] = event.outcome.objective;
  if (event.outcome.record.is_object()) line.update(event.outcome.record);
  line["rounds_left"] = event.rounds_left;
  line["seconds"] = event.seconds;
  line["elapsed_s"] = event.elapsed_s;
  return line;
}

}  // namespace

void Session::loaded(const data::Part& part) {
  address = std::visit([](const auto& m) { return reinterpret_cast<std::uintptr_t>(m.values); },
                       part.data.x);
}

void Session::round(const job::RoundEvent& event) {
  if (event.outcome.phase == learn::Phase::kPrepare) return;
  history.push_back(line_of(event));
  if (callback_.is_none()) return;
  const base::MutexLock lock(mutex_);
  line_ = &history.back();
  changed_.notify_all();
  while (line_ != nullptr) changed_.wait(mutex_);
}

job::RunResult Session::run(const job::RunSpec& spec, int threads) {
  job::RunResult result;
  std::exception_ptr thrown;
  const auto body = [&](int) {
    try {
      runtime::Threads runtime({.threads = threads});
      result = job::run(spec, learn::standard_registry(), runtime, *this);
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
  return result;
}

void Session::wait() {
  auto tick = std::chrono::steady_clock::now() + kTick;
  for (;;) {
    bool is_round = false;
    {
      const base::MutexLock lock(mutex_);
      while (!done_ && line_ == nullptr && std::chrono::steady_clock::now() < tick) {
        changed_.wait_until(mutex_, tick);
      }
      if (done_) return;
      is_round = line_ != nullptr;
    }
    if (is_round) call_back();
    if (std::chrono::steady_clock::now() < tick) continue;
    look_for_signals();
    tick = std::chrono::steady_clock::now() + kTick;
  }
}

void Session::call_back() {
  const base::Json* line = nullptr;
  {
    const base::MutexLock lock(mutex_);
    line = line_;
  }
  if (!raised_) {
    const nb::gil_scoped_acquire acquire;
    try {
      const nb::object answer = callback_(to_python(*line));
      if (answer.ptr() == Py_True) stop_ = true;
    } catch (...) {
      raised_ = std::current_exception();
      stop_ = true;
    }
  }
  const base::MutexLock lock(mutex_);
  line_ = nullptr;
  changed_.notify_all();
}

void Session::look_for_signals() {
  if (raised_) return;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return;
  raised_ = std::make_exception_ptr(nb::python_error());
  stop_ = true;
}

}  // namespace meanwhile::python
