// meanwhile runs: run directories listed, compared side by side, and removed.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/output/columns.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/job/run_list.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

// A cell of a table that people read.
std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Runs {
  std::vector<std::string> paths;
  bool compare = false, remove = false, yes = false, json = false;

  explicit Runs(const FlagTable& table) {
    table.texts("PATHS", paths, "run directories, or folders of them (default: runs)");
    table.toggle("--compare", compare,
                 "show parameters and measures in which these runs differ, side by side");
    table.toggle("--remove", remove, "remove these run directories");
    table.toggle("--yes", yes, "remove without a question");
    table.toggle("--json", json, "print one JSON object");
    table.footer(
        "\nexamples:\n"
        "  meanwhile runs\n"
        "  meanwhile runs --compare runs/kmeans-1 runs/kmeans-2\n"
        "  meanwhile runs --remove runs/kmeans-1 --yes\n");
  }

  int run(const Context& context) const {
    if (compare && remove) {
      throw Error(ErrorKind::kUsage, "--compare and --remove: give one of them");
    }
    if (yes && !remove) throw Error(ErrorKind::kUsage, "--yes: goes with --remove");
    if (remove) return remove_runs(context.console);
    std::vector<fs::path> folders(paths.begin(), paths.end());
    std::error_code error;
    if (folders.empty() && (compare || fs::is_directory("runs", error))) folders = {"runs"};
    const std::vector<job::ListedRun> runs = job::list_runs(folders);
    compare ? show_differences(context, runs) : show_list(context.console, runs);
    return kExitDone;
  }

 private:
  void show_list(Console& console, const std::vector<job::ListedRun>& runs) const {
    if (json) {
      Json all = Json::array();
      for (const job::ListedRun& run : runs) all.push_back(listed(run));
      return console.out(json_line({{"runs", all}}));
    }
    if (runs.empty()) return console.say("there are no runs\n");
    std::vector<std::vector<std::string>> rows = {
        {"run", "learner", "data", "rounds", "objective", "size", "started", "state"}};
    for (const job::ListedRun& run : runs) {
      const Json one = listed(run);
      std::string started = base::text_or(one, "started", "-");
      if (started.size() > 16) started = started.substr(0, 16);  // to the minute
      rows.push_back({run.path.string(), cell(base::member_or_null(one, "learner")), run.data(),
                      cell(base::member_or_null(one, "rounds")),
                      cell(base::member_or_null(one, "objective")),
                      bytes_shown(static_cast<std::int64_t>(run.bytes)), started, run.state});
    }
    console.show(in_columns(rows, {"rounds", "objective", "size"}));
  }

  static Json listed(const job::ListedRun& run) {
    Json json = {{"run", run.path.string()}};
    for (const char* name : {"learner", "rounds", "objective", "started", "ended"}) {
      if (const Json& value = base::member_or_null(run.record, name); !value.is_null()) {
        json[name] = value;
      }
    }
    if (const Json& data = base::member_or_null(run.record, "data"); data.is_object()) {
      json["data"] = base::member_or_null(data, "paths");
    }
    json["bytes"] = run.bytes;
    json["state"] = run.state;
    return json;
  }

  void show_differences(const Context& context, const std::vector<job::ListedRun>& runs) const {
    if (runs.size() < 2) {
      throw Error(ErrorKind::kUsage, "--compare: needs two runs or more; found {}",
                  base::counted(runs.size(), "run"));
    }
    const auto table = job::compare_runs(runs, context.registry);
    if (json) {
      Json all = {{"runs", Json::array()}, {"differences", Json::object()}};
      for (const job::ListedRun& run : runs) all["runs"].push_back(run.path.string());
      for (const job::Difference& row : table) all["differences"][row.name] = row.values;
      return context.console.out(json_line(all));
    }
    std::vector<std::vector<std::string>> rows = {{""}};
    for (const job::ListedRun& run : runs) rows.front().push_back(run.path.string());
    for (const job::Difference& row : table) {
      std::vector<std::string>& cells = rows.emplace_back();
      cells.push_back(row.name);
      for (const Json& value : row.values) cells.push_back(cell(value));
    }
    context.console.show(in_columns(rows, {}));
  }

  int remove_runs(Console& console) const {
    if (paths.empty()) throw Error(ErrorKind::kUsage, "--remove: name the runs to remove");
    for (const std::string& path : paths) job::check_removable(path);
    if (!yes && !agreed(console)) {
      console.say("nothing was removed\n");
      return kExitDone;
    }
    for (const std::string& path : paths) job::remove_run(path);
    console.say(fmt::format("removed {}\n", base::counted(paths.size(), "run")));
    return kExitDone;
  }

  bool agreed(Console& console) const {
    if (isatty(STDIN_FILENO) == 0) {
      throw Error(ErrorKind::kUsage,
                  "--remove: there is no terminal to ask on; --yes removes without a question");
    }
    std::string names;
    for (const std::string& path : paths) names += " " + path;
    console.say(fmt::format("remove{}? [y/N] ", names));
    char answer[16] = {};
    return std::fgets(answer, sizeof answer, stdin) != nullptr &&
           (answer[0] == 'y' || answer[0] == 'Y');
  }
};

}  // namespace

Command add_runs(const FlagTable& program) {
  return make_command<Runs>(program.command("runs", "list, compare and remove run directories"));
}

}  // namespace meanwhile::cli
