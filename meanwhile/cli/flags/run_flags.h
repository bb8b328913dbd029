// The flags of a run, wherever it is to take place: what is learned, from what, and from where on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/flags/learner_flags.h"
#include "meanwhile/job/run_spec.h"

namespace meanwhile::cli {

class RunFlags {
 public:
  // This object must outlive the parsing.
  RunFlags(const FlagTable& table, const learn::Entry& entry);

  const learn::Entry& entry() const { return entry_; }
  const InputFlags& input() const { return input_; }
  // The flags of a run that most users need, by name.
  std::vector<std::string> common() const;
  // After parsing. THROWS Error(kUsage, kInput) for files that are missing.
  job::RunSpec spec() const;

 private:
  void set_staleness(const std::string& text);

  const learn::Entry& entry_;
  InputFlags input_;
  std::optional<ParameterFlags> parameters_;
  std::uint64_t seed_ = 0;
  int shards_ = 0;
  std::string deal_;
  int staleness_ = 0;
  std::string eval_, resume_, simd_, reads_, replay_;
  Flag seed_flag_, shards_flag_, eval_flag_, staleness_flag_;
};

}  // namespace meanwhile::cli
