// What one node of a training does, from reading its part of the data to the last round.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/asked.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/plan/audit.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::cli {

// One of the nodes of a job: the only one, an MPI rank, or a thread that plays one.
struct Node {
  transport::Transport* transport = nullptr;  // null: there are no others
  int workers = 1;                            // threads

  // What run_node leaves here.
  data::Part part, eval;
  bool other_data = false;                     // than that of the run to resume
  base::Json record;                           // what goes to run.json and to --json
  std::optional<job::RunDirectory> directory;  // of the first node
  std::optional<plan::Expected> expected;      // none: the machine's profile does not say
  std::optional<job::TrainResult> result;      // none: there was nothing left to do

  bool first() const { return transport == nullptr || transport->rank() == 0; }
  int nodes() const { return transport == nullptr ? 1 : transport->size(); }
};

// The parts of run_node that are the same wherever the rounds run. Collective.
// Reads the data to node.part and node.eval, and begins node.record.
void load(const Asked& asked, Progress& progress, Node& node);
std::unique_ptr<learn::RoundLearner> make_learner(const Asked& asked, Console& console,
                                                  const Node& node);
// The run to resume was finished, and nothing that was asked for changes that.
bool nothing_left(const Asked& asked, const learn::RoundLearner& learner, const Node& node);
// Makes or opens the run directory, and writes down what is to run.
void open_run(const Asked& asked, const Context& context, Node& node);
// Writes down how it ended.
void close_run(Node& node);

// Reads, trains, and keeps the run directory if this is the first node; that one also shows how far
// it is. Collective. THROWS what job::load and job::train throw; a run directory that was made for
// nothing is gone then.
void run_node(Asked& asked, const Context& context, Node& node);

}  // namespace meanwhile::cli
