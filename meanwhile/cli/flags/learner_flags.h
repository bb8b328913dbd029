// The parameters of a learner on the command line: one flag each, made from its schema.
#pragma once

#include <deque>
#include <string>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/learn/entry.h"

namespace meanwhile::cli {

class ParameterFlags {
 public:
  // Adds the flags, under a heading with the learner's name. This object must outlive the parsing;
  // `entry` must outlive this object.
  ParameterFlags(const FlagTable& table, const learn::Entry& entry);

  // The values that the command line gives, by name; for learn::settle.
  base::Json given() const;

 private:
  struct Slot {
    const learn::Parameter* parameter;
    Flag flag;
    base::Json value;
    bool on = false;  // the value of a boolean
  };

  void add(const FlagTable& table, Slot& slot);

  std::deque<Slot> slots_;  // flags hold their addresses
};

}  // namespace meanwhile::cli
