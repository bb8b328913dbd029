#include "meanwhile/cli/commands/aside.h"

#include <fmt/format.h>

#include "meanwhile/base/error.h"
#include "meanwhile/job/run_list.h"

namespace meanwhile::cli {

void say_aside(Console& console, const job::RunResult& result, bool overwrite) {
  if (result.aside.empty()) return;
  std::string why;
  if (overwrite && !result.trained.interrupted) {
    try {
      return job::remove_run(result.aside);
    } catch (const base::Error& error) {
      why = fmt::format(" ({})", error.what());
    }
  }
  console.say(fmt::format("note: the run that was at {} is now at {}{}\n",
                          result.directory.string(), result.aside.string(), why));
}

}  // namespace meanwhile::cli
