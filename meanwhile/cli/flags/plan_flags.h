// Flags that describe a job and where it would run, for commands that only plan it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/flags/learner_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/plan/history.h"
#include "meanwhile/plan/predict.h"

namespace meanwhile::cli {

class PlanFlags {
 public:
  // This object must outlive the parsing of `app`.
  PlanFlags(const FlagTable& table, const learn::Entry& entry);

  // Reads the shape of the data if files were named, and the machine. THROWS Error(kUsage, kInput).
  void settle();

  // After settle().
  const plan::Machine& machine() const { return machine_; }
  const plan::Job& job() const { return job_; }
  const plan::Setting& setting() const { return setting_; }
  bool dial() const { return dial_; }  // the learner allows a staleness above 0
  bool fixed_exchange() const { return exchange_ != "auto"; }
  const plan::History& history() const { return history_; }
  const learn::Entry& entry() const { return entry_; }
  std::vector<std::string> all_read() const;

 private:
  data::Dataset read(const base::Json& parameters) const;
  learn::Shape shape(const base::Json& parameters) const;
  learn::Shape shape_of_files(const base::Json& parameters) const;
  learn::Shape shape_of_degrees() const;
  void settle_setting();

  const learn::Entry& entry_;
  std::optional<ParameterFlags> parameters_;
  InputFlags input_;
  std::int64_t rows_ = 0, dims_ = 0, nonzeros_ = 0, classes_ = 0;
  double rounds_ = 0;
  std::string degrees_, machine_name_, runtime_ = "auto", exchange_ = "auto";
  int shards_ = 0;
  bool dial_ = false;
  plan::Machine machine_;
  plan::History history_;
  plan::Job job_;
  plan::Setting setting_;
};

// The profile that is meant when none is named: $MEANWHILE_MACHINE, or what 'calibrate' left for
// this user, or the generic one.
std::string default_machine();
// That profile, or the one of this name. THROWS Error(kInput).
plan::Machine named_machine(const std::string& name_or_path);
// Where 'calibrate' leaves a profile for this user; empty when there is no home.
std::string own_machine_path();

// "1..128", "1,2,4", "64": in order, each once. THROWS Error(kUsage).
std::vector<int> parse_workers(const std::string& flag, const std::string& text);
// "90", "90s", "30m", "1h30m", "2d": seconds. THROWS Error(kUsage).
double parse_duration(const std::string& flag, const std::string& text);

}  // namespace meanwhile::cli
