// Flags of commands that make lists of items: how long they are, and what is left out of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/learn/pair_model.h"

namespace meanwhile::cli {

class RatedFlags {
 public:
  // This object must outlive the parsing of `table`.
  void add_to(const FlagTable& table);
  std::int64_t top() const { return top_; }
  // Whether one of the flags was given.
  bool given() const;
  // The ratings whose items are left out: those that the flag names, or those that the run at
  // `model` learned from. THROWS Error(kUsage) when they are not there any more.
  learn::PairFiles rated(const std::string& model) const;

 private:
  std::int64_t top_ = 10;
  std::vector<std::string> ratings_;
  bool keep_ = false;
  Flag top_flag_, ratings_flag_;
};

}  // namespace meanwhile::cli
