// The commands of the program. Each adds its flags to the program's table, from which the help, the
// parsing, the answers to mistakes and the shell completion are all made.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"

namespace CLI {
class App;
}

namespace meanwhile::cli {

class Console;

inline constexpr int kExitDone = 0, kExitFailed = 1, kExitUsage = 2, kExitInterrupted = 130;

// What an error means to whoever started the program.
inline int exit_code(const base::Error& error) {
  const bool mistake =
      error.kind() == base::ErrorKind::kUsage || error.kind() == base::ErrorKind::kInput;
  return mistake ? kExitUsage : kExitFailed;
}

struct Context {
  Console& console;
  std::vector<std::string> command_line;  // as it was typed, the program's name first
};

struct Command {
  CLI::App* app;                           // owned by the program's table
  std::function<int(const Context&)> run;  // after parsing; returns the exit code
};

std::vector<Command> add_train(CLI::App& program);     // one for each learner
std::vector<Command> add_submit(CLI::App& program);    // one for each learner
std::vector<Command> add_plan(CLI::App& program);      // one for each learner
std::vector<Command> add_simulate(CLI::App& program);  // one for each learner
Command add_calibrate(CLI::App& program);
Command add_worker(CLI::App& program);
Command add_status(CLI::App& program);
Command add_fetch(CLI::App& program);
Command add_cancel(CLI::App& program);
Command add_predict(CLI::App& program);
Command add_transform(CLI::App& program);
Command add_evaluate(CLI::App& program);
Command add_inspect(CLI::App& program);
Command add_topics(CLI::App& program);
Command add_convert(CLI::App& program);
Command add_completion(CLI::App& program);

// Parses the words after the program's name. THROWS Error(kUsage) whose message names what was
// wrong, what is known and what was probably meant; CLI::CallForHelp and CLI::CallForVersion.
void parse(CLI::App& program, const std::vector<std::string>& words);

}  // namespace meanwhile::cli
