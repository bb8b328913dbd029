// The program `meanwhile`: parses, runs one command, and turns what went wrong into a message and
// an exit code: 0 done, 1 a failure, 2 the user's mistake, 130 interrupted.
#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/base/version.h"
#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/flags/cluster.h"
#include "meanwhile/cli/flags/help_format.h"
#include "meanwhile/cli/output/console.h"

namespace meanwhile::cli {
namespace {

static_assert(std::string_view(base::kVersion) == MEANWHILE_VERSION,
              "job/version.h and CMakeLists.txt disagree");

int run(const Context& context) {
  CLI::App program(
      "Machine learning on rows: the same answer, to the last bit, however many workers.",
      "meanwhile");
  program.set_version_flag("--version", std::string("meanwhile ") + base::kVersion);
  program.require_subcommand(0, 1);
  program.option_defaults()->take_last();
  program.formatter(help_format());
  program.footer(
      "\nexamples:\n"
      "  meanwhile train kmeans points.npy --n-clusters 100 --out runs/a\n"
      "  meanwhile predict runs/a points.npy --out labels.npy\n"
      "  meanwhile plan kmeans points.npy --n-clusters 100 --deadline 30m\n"
      "  meanwhile COMMAND --help\n");

  std::vector<Command> commands = add_train(program);
  for (const auto add : {add_submit, add_plan, add_simulate}) {
    for (Command& command : add(program)) commands.push_back(std::move(command));
  }
  for (const auto add :
       {add_calibrate, add_worker, add_status, add_fetch, add_cancel, add_predict, add_transform,
        add_evaluate, add_inspect, add_topics, add_convert, add_completion}) {
    commands.push_back(add(program));
  }
  try {
    parse(program, {context.command_line.begin() + 1, context.command_line.end()});
  } catch (const CLI::CallForHelp&) {
    context.console.out(program.help());
    return kExitDone;
  } catch (const CLI::CallForVersion& e) {
    context.console.out(std::string(e.what()) + "\n");
    return kExitDone;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const bool several = program.got_subcommand("train") || program.got_subcommand("calibrate");
    if (launched().size > 1 && !several) {
      throw base::Error(base::ErrorKind::kUsage,
                        "{} ranks were started, but only train and calibrate use several",
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
}  // namespace meanwhile::cli

int main(int argc, char** argv) {
  meanwhile::cli::Console console;
  // Of ranks that all do the same, one says so.
  if (meanwhile::cli::launched().rank > 0) console.be_mute();
  return meanwhile::cli::guarded({console, {argv, argv + argc}});
}
