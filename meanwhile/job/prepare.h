// A run up to its first round: what was asked is merged with the run to resume and checked, the
// data is read, the learner made.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/run_spec.h"
#include "meanwhile/job/runtime.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/tables/reads_log.h"

namespace meanwhile::job {

// The run that a spec resumes.
struct ResumedRun {
  // THROWS Error(kInput) when `path` is no run, is damaged, or does not say its parameters.
  ResumedRun(const std::filesystem::path& path, learn::Reading& reading);

  // Writes the state to `path`, with a seal of this version. REQUIRES: there is a state.
  void seal_state(const std::filesystem::path& path) const;

  RunDirectory directory;
  base::Json record;
  std::optional<data::SafetensorsFile> state;  // none: killed before its first checkpoint
  std::filesystem::path state_path;            // the file of `state`
  base::Json parameters;
  std::int64_t rounds = 0;
};

// A spec with all that it leaves open filled in.
struct SettledRun {
  RunSpec spec;
  const learn::Entry* entry = nullptr;  // of the registry
  base::Json parameters;
  std::uint64_t seed = 0;
  int shards = 0;  // 0: by the size of the data
  // Not set: by content if the data is small, else by blocks.
  std::optional<data::Deal> deal = data::Deal::kBlocks;
  std::string eval;     // empty: none
  tables::Bound bound;  // staleness of reads
  // The record of fresh reads to repeat, or that of the run to resume; null: none.
  std::shared_ptr<const tables::ReadsLog> replayed = {}, recorded = {};

  bool is_fresh() const { return bound.reads == tables::Reads::kFresh; }
  std::optional<ResumedRun> resumed;
  std::vector<std::string> notes;  // for the user
  std::string asked_out = {};      // `out` of the spec, before it was filled in
};

// Merges and checks all that can be known before the data is read. THROWS Error(kUsage, kInput).
SettledRun settle(const RunSpec& spec, const learn::Registry& registry);

// The data of a run, as one worker has it.
struct LoadedRun {
  data::Part part;
  std::optional<data::Part> eval;
  bool other_data = false;  // than that of the run to resume
  double load_s = 0;
};

// Reads the data; words and columns are matched to those of the run to resume. Collective.
// THROWS Error(kInterrupted) when the flag of observer.begin_reading() becomes true. One of several
// workers would leave the others waiting for its rows, so they do not ask for the flag; neither do
// readers of graphs, nor runs at a store, whose uploads come next. `medium`: of the run.
LoadedRun load(const SettledRun& run, const Worker& worker, Observer& observer, Medium medium);

// A new learner, the one of the run to resume, or one that starts from its model on other data.
std::unique_ptr<learn::RoundLearner> make_learner(const SettledRun& run, const LoadedRun& loaded,
                                                  Observer& observer);

// Another one in the same state, where rounds overlap on the threads of one process; else null.
std::unique_ptr<learn::RoundLearner> make_twin(const SettledRun& run, const LoadedRun& loaded,
                                               const Deployment& deployment);

// Whether the state to resume from is that of a run that had finished, and nothing that is asked
// for changes that. The state says so, not run.json, which is written after it.
bool nothing_left(const SettledRun& run, const LoadedRun& loaded,
                  const learn::RoundLearner& learner);

// The error of a run that asked for more memory than there is. A vector that cannot be says neither
// how long it was to be nor what for.
base::Error out_of_memory(const SettledRun& run);

}  // namespace meanwhile::job
