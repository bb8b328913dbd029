// What was asked for on the command line of a training, wherever it is to run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/flags/learner_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/run_directory.h"

namespace meanwhile::cli {

// The run that --resume names.
struct Resumed {
  // THROWS Error(kInput) when there is none, or when it does not say what it was run with.
  explicit Resumed(const std::filesystem::path& path);

  job::RunDirectory directory;
  base::Json record;
  std::optional<data::SafetensorsFile> state;  // none: killed before its first checkpoint
  base::Json parameters;
  std::int64_t rounds = 0;
};

// What was asked for on the command line, checked and settled: the same for all nodes of a job.
struct Asked {
  const learn::Entry& entry;
  base::Json given = {}, parameters = {};  // by flags; settled
  InputFlags input = {};
  std::uint64_t seed = 0;
  int shards = 0;
  double time_limit = 0, checkpoint_seconds = 10;
  std::int64_t memory_limit = 0;
  std::string runtime = "auto", exchange = "auto", eval = {};
  std::string out = {}, resume = {};
  std::string machine = {};    // whose profile predicts the run; empty: the default
  bool plan = false;           // take what is not given from the plan
  bool workers_given = false;  // by a flag
  std::optional<Resumed> resumed = std::nullopt;
};

// The flags that say what is learned, from what, and from where on.
class AskedFlags {
 public:
  // This object must outlive the parsing.
  AskedFlags(const FlagTable& table, const learn::Entry& entry);

  Asked& asked() { return asked_; }
  const Asked& asked() const { return asked_; }
  // All that can be known to be wrong before the data is read. THROWS Error(kUsage, kInput).
  void check(Console& console);

 private:
  void keep_what_was(Console& console);

  Asked asked_;
  std::optional<ParameterFlags> parameters_;
  Flag seed_option_, shards_option_, eval_option_;
  std::string simd_;
};

}  // namespace meanwhile::cli
