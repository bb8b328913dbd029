// The parameters of a learner as flags that take several values, for commands that compare models:
// lists (1e-6,1e-4), and ranges (2..15, 10..100:10, 1e-6..1e-2).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/learn/entry.h"
#include "meanwhile/tune/grid.h"

namespace meanwhile::cli {

class ListFlags {
 public:
  // Adds the flags, under a heading with the learner's name. This object must outlive the parsing;
  // `entry` must outlive this object.
  ListFlags(const FlagTable& table, const learn::Entry& entry);

  // Parameters that the command line gives one value, by name.
  base::Json single() const;
  // Those that it gives several, in the order of the learner's parameters.
  std::vector<tune::Axis> axes() const;

 private:
  struct Slot {
    const learn::Parameter* parameter;
    Flag flag;
    std::vector<base::Json> values;
    bool on = false;  // the value of a boolean
  };

  void add(const FlagTable& table, Slot& slot);

  std::deque<Slot> slots_;  // flags hold their addresses
};

// The values of a list. A range A..B has whole numbers from A to B, in steps of S with A..B:S; of
// real numbers A, 10 A, 100 A and so on up to B, or A, S A, S^2 A with A..B:S. Values are kept
// once. THROWS Error(kUsage) that names the flag and what was found.
std::vector<base::Json> parse_list(const std::string& flag, const learn::Parameter& parameter,
                                   const std::string& text);

}  // namespace meanwhile::cli
