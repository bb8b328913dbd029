// The program `meanwhile` as a function, so that a test can run it with learners of its own.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/learn/registry.h"

namespace meanwhile::cli {

// Runs the program with the learners of `registry`: parses, runs one command, and turns errors into
// a message and an exit code. The first word of the command line is the program's name.
int run_program(const std::vector<std::string>& command_line, const learn::Registry& registry);

}  // namespace meanwhile::cli
