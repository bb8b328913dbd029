// The commands of the program. Each adds its flags to the program's table (flags/flag_table.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/learn/ending.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::cli {

class Console;

inline constexpr int kExitDone = 0, kExitFailed = 1, kExitUsage = 2, kExitUnconverged = 3,
                     kExitInterrupted = 130;

// The exit code of a program that an error ends.
inline int exit_code(const base::Error& error) {
  if (error.kind() == base::ErrorKind::kInterrupted) return kExitInterrupted;
  const bool mistake =
      error.kind() == base::ErrorKind::kUsage || error.kind() == base::ErrorKind::kInput;
  return mistake ? kExitUsage : kExitFailed;
}

// The exit code of a run that ended, from what it says of its end.
inline int exit_code(const learn::Entry& entry, std::string_view stopped_because) {
  const bool converged =
      learn::ended_from_text(stopped_because).ending == learn::Ending::kConverged;
  return entry.must_converge && !converged ? kExitUnconverged : kExitDone;
}

struct Context {
  Console& console;
  std::vector<std::string> command_line;  // as it was typed, the program's name first
  const learn::Registry& registry;
};

struct Command {
  FlagTable table;
  std::function<int(const Context&)> run;  // after parsing; returns the exit code
  bool of_many_ranks = false;              // may be started by mpirun
};

// The command that T(table, arguments...) adds flags for and T::run(context) runs. A T that has a
// kOfManyRanks may be started by mpirun.
template <class T, class... Arguments>
Command make_command(const FlagTable& table, const Arguments&... arguments) {
  const auto command = std::make_shared<T>(table, arguments...);
  constexpr bool of_many_ranks = requires { T::kOfManyRanks; };
  return {table, [command](const Context& context) { return command->run(context); },
          of_many_ranks};
}

// One of them for each learner, below `parent`.
template <class T>
std::vector<Command> commands_of_learners(const FlagTable& parent,
                                          const learn::Registry& registry) {
  std::vector<Command> commands;
  for (const learn::Entry& entry : registry.entries()) {
    commands.push_back(make_command<T>(parent.command(entry.name, entry.summary), entry));
  }
  return commands;
}

// One command for each learner. The registry must outlive them.
std::vector<Command> add_train(const FlagTable& program, const learn::Registry& registry);
std::vector<Command> add_tune(const FlagTable& program, const learn::Registry& registry);
std::vector<Command> add_submit(const FlagTable& program, const learn::Registry& registry);
std::vector<Command> add_plan(const FlagTable& program, const learn::Registry& registry);
std::vector<Command> add_simulate(const FlagTable& program, const learn::Registry& registry);
Command add_calibrate(const FlagTable& program, const learn::Registry& registry);
Command add_worker(const FlagTable& program);
Command add_status(const FlagTable& program);
Command add_fetch(const FlagTable& program);
Command add_cancel(const FlagTable& program);
Command add_predict(const FlagTable& program);
Command add_transform(const FlagTable& program);
Command add_evaluate(const FlagTable& program);
Command add_inspect(const FlagTable& program);
Command add_topics(const FlagTable& program);
Command add_recommend(const FlagTable& program);
Command add_split(const FlagTable& program);
Command add_runs(const FlagTable& program);
Command add_merge(const FlagTable& program);
Command add_convert(const FlagTable& program);
Command add_export(const FlagTable& program);
std::vector<Command> add_generate(const FlagTable& program);  // one for each kind of graph
Command add_completion(const FlagTable& program);

}  // namespace meanwhile::cli
