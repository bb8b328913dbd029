// A run, from what was asked to the model: the program, Python and the tests all train through
// this function.
//
//   runtime::Threads threads({.threads = 4});
//   job::Observer silent;
//   job::run({.learner = "kmeans", .inputs = {"points.npy"}}, learn::standard_registry(), threads,
//            silent);
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/job/observer.h"
#include "meanwhile/job/planner.h"
#include "meanwhile/job/run_spec.h"
#include "meanwhile/job/runtime.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::job {

struct RunResult {
  bool first = true;  // false: another process is the first worker, and has the rest of this
  bool nothing_left = false;  // the run to resume had finished; nothing was done
  TrainResult trained;        // empty when nothing was left
  // All that is known of the run: what run.json holds, but for the history of the machine.
  base::Json record;
  // The model's file, where no run directory is kept: empty before the first round of training.
  std::vector<std::byte> model;
  std::filesystem::path directory;
  std::filesystem::path aside;  // where a run that was at `directory` is now; empty: there was none
  std::string compared;         // predicted beside measured: a line, or nothing
};

// Data and learner of a run of one worker, made ready before it began. All is borrowed.
struct Ready {
  const data::Part* part = nullptr;  // the rows, as load() gives them for the spec
  double load_s = 0;                 // that it took to read them
  // The learner to begin with; null: that of the spec.
  std::function<std::unique_ptr<learn::RoundLearner>(const base::Json& parameters)> make = nullptr;
  base::Json record = base::Json::object();  // further fields of run.json
};

// Checks all of a spec that can be known to be wrong before a runtime starts and data is read.
// run() does so, too. THROWS Error(kUsage, kInput).
void check(const RunSpec& spec, const learn::Registry& registry);

// Reads, trains and keeps the run directory. With `planner`, every run is predicted and compared.
// Collective: every process of the runtime calls it with the same spec. THROWS what reading, the
// learner and the runtime throw; what one worker throws, all throw. A run directory in which no
// round began is gone then. `ready`: not null: is used instead of reading. REQUIRES then: the
// runtime has one worker, and the spec resumes nothing.
RunResult run(const RunSpec& spec, const learn::Registry& registry, Runtime& runtime,
              Observer& observer, Planner* planner = nullptr, const Ready* ready = nullptr);

}  // namespace meanwhile::job
