// Training through a store: submitting, working and fetching, together or one by one.
#pragma once

#include <string>

#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/train_node.h"
#include "meanwhile/cli/flags/asked.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/runtime/storage/submit.h"

namespace meanwhile::cli {

struct StorageAsked {
  double lease = 30, timeout = 600;
};
void add_job_flags(const FlagTable& table, StorageAsked& asked);

// Submits what `asked` says of the data in `node`, in the state of `learner`.
runtime::Submitted submit_job(const Asked& asked, const StorageAsked& storage,
                              const Context& context, const Node& node,
                              learn::RoundLearner& learner, OpenStore& opened);

// Writes the result of a finished job to a run directory, with its bill. Returns what ended it.
base::Json fetch_job(OpenStore& opened, const runtime::JobRecord& job, const StoreFlags& store,
                     job::RunDirectory& directory);

// Submits, works with node.workers workers, one thread each, and fetches; then removes the job from
// the store. Interrupted, it leaves the job there, for workers or for the same command again.
void run_on_store(Asked& asked, const StoreFlags& store, const StorageAsked& storage,
                  const Context& context, Node& node);

}  // namespace meanwhile::cli
