// job::run for a caller who may press Ctrl-C (watch.h): what it tells and keeps.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/job/run.h"
#include "meanwhile/python/watch.h"

namespace meanwhile::python {

namespace nb = nanobind;

class __attribute__((visibility("hidden"))) Session final : public job::Observer {
 public:
  // `callback`: none, or what is called with the line of each round; True ends the run.
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
  const std::atomic<bool>* begin_reading() override { return watch_.stop(); }
  const std::atomic<bool>* begin_rounds() override { return watch_.stop(); }

  nb::object callback_;
  Watch watch_;
};

}  // namespace meanwhile::python
