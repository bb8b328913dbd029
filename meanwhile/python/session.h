// job::run on a thread of its own, so that the thread of the caller, which alone may look at
// Python's signals, stays free to look.
//
// The caller waits without the interpreter's lock. It takes the lock every 50 ms for signals, and
// to call back after a round. What Python raises ends the run after the present shard, and is
// raised once the run has ended: nothing of the run outlives the call.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/base/mutex.h"
#include "meanwhile/job/run.h"

namespace meanwhile::python {

namespace nb = nanobind;

class __attribute__((visibility("hidden"))) Session final : public job::Observer {
 public:
  // `callback`: none, or what is called with the line of each round.
  explicit Session(nb::object callback) : callback_(std::move(callback)) {}

  // Called with the interpreter's lock. THROWS what job::run and the callback throw, and what a
  // signal raises; std::exception.
  job::RunResult run(const job::RunSpec& spec, int threads);

  std::vector<base::Json> history;
  std::vector<std::string> notes;
  std::uintptr_t address = 0;

 private:
  void loaded(const data::Part& part) override;
  void round(const job::RoundEvent& event) override;
  void note(const std::string& text) override { notes.push_back(text); }
  const std::atomic<bool>* begin_rounds() override { return &stop_; }

  void wait();
  void call_back();
  void look_for_signals();

  nb::object callback_;
  std::atomic<bool> stop_ = false;
  std::exception_ptr raised_;  // of the caller's thread

  base::Mutex mutex_;
  base::Condition changed_;
  const base::Json* line_ MW_GUARDED_BY(mutex_) =
      nullptr;  // of a round that the callback waits for
  bool done_ MW_GUARDED_BY(mutex_) = false;
};

}  // namespace meanwhile::python
