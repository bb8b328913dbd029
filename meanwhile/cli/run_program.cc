// The program: parses the command line, runs one command, and turns an error into a message and an
// exit code: 0 done, 1 a failure, 2 a mistake of the user, 3 not converged, 130 interrupted.
#include "meanwhile/cli/run_program.h"

#include <exception>
#include <new>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/base/version.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/cluster.h"
#include "meanwhile/cli/flags/program.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/cut_file.h"

namespace meanwhile::cli {
namespace {

static_assert(std::string_view(base::kVersion) == MEANWHILE_VERSION,
              "base/version.h and CMakeLists.txt disagree");

int run(const Context& context) {
  Program program("meanwhile",
                  "Machine learning on many rows, with the same model to the last bit on any "
                  "number of workers.",
                  std::string("meanwhile ") + base::kVersion);
  const FlagTable table = program.table();
  table.footer(
      "\nexamples:\n"
      "  meanwhile train kmeans points.npy --n-clusters 100 --out runs/a\n"
      "  meanwhile predict runs/a points.npy --out labels.npy\n"
      "  meanwhile plan kmeans points.npy --n-clusters 100 --deadline 30m\n"
      "  meanwhile COMMAND --help\n");

  std::vector<Command> commands;
  for (const auto add : {add_train, add_tune, add_submit, add_plan, add_simulate}) {
    for (Command& command : add(table, context.registry)) commands.push_back(std::move(command));
  }
  commands.push_back(add_calibrate(table, context.registry));
  for (const auto add : {add_worker, add_status, add_fetch, add_cancel, add_predict, add_transform,
                         add_evaluate, add_inspect, add_topics, add_recommend, add_convert,
                         add_split, add_merge, add_export, add_runs, add_completion}) {
    commands.push_back(add(table));
  }
  for (Command& command : add_generate(table)) commands.push_back(std::move(command));
  const auto asked_for =
      program.parse({context.command_line.begin() + 1, context.command_line.end()});
  if (asked_for) {
    context.console.out(*asked_for);
    return kExitDone;
  }
  for (const Command& command : commands) {
    if (!command.table.parsed()) continue;
    if (launched().size > 1 && !command.of_many_ranks) {
      throw base::Error(base::ErrorKind::kUsage,
                        "{} ranks were started, but only train and calibrate use more than one",
                        launched().size);
    }
    return command.run(context);
  }
  return kExitUsage;
}

int guarded(const Context& context) {
  try {
    const int code = run(context);
    context.console.flush();
    return code;
  } catch (const ReaderGone&) {
    return kExitDone;
  } catch (const base::Error& e) {
    if (should_print_error(e)) context.console.error(e.what());
    return exit_code(e);
  } catch (const std::bad_alloc&) {
    context.console.error("out of memory");
    return kExitFailed;
  } catch (const std::exception& e) {
    context.console.error(e.what());
    return kExitFailed;
  }
}

}  // namespace

int run_program(const std::vector<std::string>& command_line, const learn::Registry& registry) {
  Console console;
  // Ranks that all do the same speak with one voice.
  if (launched().rank > 0) console.be_mute();
  report_cut_files(kExitUsage);
  return guarded({console, command_line, registry});
}

}  // namespace meanwhile::cli
