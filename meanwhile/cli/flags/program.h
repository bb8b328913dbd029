// The program's command line: owns the table of commands and flags, and parses.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/cli/flags/flag_table.h"

namespace meanwhile::cli {

class Program {
 public:
  Program(const std::string& name, const std::string& help, const std::string& version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  FlagTable table() const;

  // Parses the words after the program's name. Flags may come before a learner's name. Returns the
  // help (--help, or --help-all with rare flags) or the version if that was asked for: nothing is
  // to be run then. THROWS Error(kUsage) that names what is wrong and what was probably meant.
  std::optional<std::string> parse(const std::vector<std::string>& words);

 private:
  std::string help_of(std::span<const std::string> words) const;

  bool help_all_ = false;  // rare flags, too
  std::unique_ptr<CLI::App> app_;
};

}  // namespace meanwhile::cli
