// What one node of a training does, from reading its part of the data to the last round.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/input_flags.h"
#include "meanwhile/cli/learners.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/train.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::cli {

// The run that --resume names.
struct Resumed {
  // THROWS Error(kInput) when there is none, or when it does not say what it was run with.
  explicit Resumed(const std::filesystem::path& path);

  job::RunDirectory directory;
  learn::Json record;
  std::optional<data::SafetensorsFile> state;  // none: killed before its first checkpoint
  learn::Json parameters;
  std::int64_t rounds = 0;
};

// What was asked for on the command line, checked and settled: the same for all nodes of a job.
struct Asked {
  const LearnerEntry& entry;
  std::unique_ptr<LearnerFlags> learner = nullptr;
  InputFlags input = {};
  std::uint64_t seed = 0;
  int shards = 0;
  double time_limit = 0, checkpoint_seconds = 10;
  std::int64_t memory_limit = 0;
  std::string runtime = "auto", exchange = "auto", eval = {};
  std::string out = {}, resume = {};
  std::optional<Resumed> resumed = std::nullopt;
};

// One of the nodes of a job: the only one, an MPI rank, or a thread that plays one.
struct Node {
  transport::Transport* transport = nullptr;  // null: there are no others
  int workers = 1;                            // threads

  // What run_node leaves here.
  data::Part part, eval;
  bool other_data = false;                     // than that of the run to resume
  learn::Json record;                          // what goes to run.json and to --json
  std::optional<job::RunDirectory> directory;  // of the first node
  std::optional<job::TrainResult> result;      // none: there was nothing left to do

  bool first() const { return transport == nullptr || transport->rank() == 0; }
  int nodes() const { return transport == nullptr ? 1 : transport->size(); }
};

// Reads, trains, and keeps the run directory if this is the first node; that one also shows how far
// it is. Collective. THROWS what job::load and job::train throw; a run directory that was made for
// nothing is gone then.
void run_node(const Asked& asked, const Context& context, Node& node);

}  // namespace meanwhile::cli
