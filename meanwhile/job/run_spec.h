// A run as it was asked for: a plain value that nothing changes later. The program makes one from
// its flags, Python from keywords.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/tables/reads.h"

namespace meanwhile::job {

struct RunSpec {
  std::string learner;                             // its name in the registry
  base::Json parameters = base::Json::object();    // those that are set, by name
  std::vector<std::filesystem::path> inputs = {};  // files of rows; see data::read
  data::ReadOptions read = {};                     // but for `threads`, which the runtime says
  // Rows in memory instead of `inputs`, and held-out ones instead of `eval`. What they borrow must
  // not change before the run is over. For runtimes of one process.
  std::optional<data::Dataset> rows = {}, eval_rows = {};

  // Not set: as in the run to resume; in a new run 0, "by the size of the data", the default of the
  // learner (learn::Entry::small_by_content), and none.
  std::optional<std::uint64_t> seed = {};
  std::optional<int> shards = {};
  std::optional<data::Deal> deal = {};
  std::optional<std::string> eval = {};  // a file of held-out rows
  // How many rounds old the model that a worker reads may be: see tables/reads.h. 0 where not set.
  std::optional<int> staleness = {};
  std::optional<tables::Reads> reads = {};  // not set: fixed up to staleness 1, fresh above
  std::filesystem::path replay = {};        // a run whose reads are repeated; empty: none

  std::filesystem::path resume = {};  // the run directory to continue; empty: a new run
  // A model to begin from, on whatever rows: a warm start without a run directory. Null: none.
  std::shared_ptr<const data::SafetensorsFile> start = {};
  // The run directory to write; empty: that of `resume`, or runs/LEARNER-N.
  std::filesystem::path out = {};
  // Whether there is a run directory. Without one nothing is written: RunResult::model has the
  // model.
  bool keeps_directory = true;

  std::optional<Exchange> exchange = {};  // not set: the plan's choice, or allreduce
  // Workers that hold each shard: 1, or 2, so that neighbours take shards of a straggler.
  int replicas = 1;
  bool plan = false;  // let the planner choose what is left open

  double time_limit_s = 0;  // of training; 0: none
  double checkpoint_seconds = 10;
  std::int64_t memory_limit_bytes = 0;  // of mapped data kept in memory; 0: see TrainOptions

  std::vector<std::string> command = {};  // how the user asked for the run, for run.json
};

}  // namespace meanwhile::job
