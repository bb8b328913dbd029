// How stale reads of a run may be: what was asked, the run to resume and the record to repeat, put
// together and checked.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/job/clock_options.h"
#include "meanwhile/job/prepare.h"

namespace meanwhile::job {

// Unless the spec says otherwise, the answer depends on the same things as in the run to resume.
template <class T>
T keep(const std::optional<T>& given, const char* name, T otherwise, SettledRun& run) {
  if (!run.resumed) return given.value_or(otherwise);
  T before = otherwise;
  try {
    before = run.resumed->record.value(name, otherwise);
  } catch (const base::Json::exception&) {
    throw base::Error(base::ErrorKind::kInput, "{}/run.json: its {} is not understood",
                      run.spec.resume.string(), name);
  }
  if (given && *given != before) {
    run.notes.push_back(
        fmt::format("{} was {} in {}; the model will not be what that run alone would have given",
                    name, before, run.spec.resume.string()));
  }
  return given.value_or(before);
}

// Whether a run asks for fresh reads, as far as can be seen before it is settled: runtimes need
// several workers for them.
bool asks_for_fresh(const RunSpec& spec);

// Sets `bound`, `replayed` and `recorded`. REQUIRES: parameters, seed and held-out rows are
// settled.
// THROWS Error(kUsage, kInput).
void settle_staleness(SettledRun& run);

// THROWS Error(kUsage) when the record to repeat is of another run.
void check_replay(const SettledRun& run, const data::Part& part);

// How its workers read what has arrived; nothing where they do not, or where a record is repeated.
std::optional<ClockOptions> clock_options(const SettledRun& run, const data::Part& part);

// A learner that repeats a record. `state`: the file that `learner` was restored from; null: none.
std::unique_ptr<learn::RoundLearner> with_replay(std::unique_ptr<learn::RoundLearner> learner,
                                                 const learn::Entry& entry,
                                                 const base::Json& parameters,
                                                 std::shared_ptr<const tables::ReadsLog> log,
                                                 const data::SafetensorsFile* state);

// In the state of a run with a record: which part of it the state has behind it.
base::Json reads_json(const tables::ReadsLog& log);

}  // namespace meanwhile::job
