#include "meanwhile/job/run_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/run_lock.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

// All that run_directory.h, tune/ and report/ write.
constexpr std::string_view kFilesOfRuns[] = {
    "run.json",     "metrics.jsonl",       "trace.json",  "model.safetensors",
    "model.memory", "model.second.memory", "checkpoints", "reads.bin",
    "tuning.json",  "report.html",         RunLock::kName};

bool is_of_a_run(const fs::path& name) {
  return std::find(std::begin(kFilesOfRuns), std::end(kFilesOfRuns), name.string()) !=
             std::end(kFilesOfRuns) ||
         name.extension() == base::kPartialEnding;
}

std::uintmax_t bytes_in(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const std::uintmax_t size = at->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

bool is_being_written(const fs::path& run) {
  try {
    RunLock::take(run);
    return false;
  } catch (const Error&) {
    return true;
  }
}

ListedRun listed(const fs::path& path) {
  ListedRun run{.path = path, .state = "damaged", .bytes = bytes_in(path)};
  try {
    run.record = RunDirectory::open(path).run();
  } catch (const Error&) {
    return run;
  }
  run.state = base::text_or(run.record, "status", "running");
  if (run.state == "running" && !is_being_written(path)) run.state = "killed";
  return run;
}

Json shortened(const Json& hash) {
  return hash.is_string() ? Json(hash.get<std::string>().substr(0, 12)) : hash;
}

// Everything of a run that can be compared, in order.
std::vector<std::pair<std::string, Json>> facts(const ListedRun& run,
                                                const learn::Registry& registry) {
  const Json& record = run.record;
  std::vector<std::pair<std::string, Json>> all;
  const auto add = [&](const std::string& name, const Json& value) {
    if (!value.is_null()) all.emplace_back(name, value);
  };
  add("learner", base::member_or_null(record, "learner"));
  add("state", run.state);
  const Json& data = base::member_or_null(record, "data");
  if (data.is_object()) {
    add("data", run.data());
    add("rows", base::member_or_null(data, "rows"));
    add("columns", base::member_or_null(data, "cols"));
    add("data_sha256", shortened(base::member_or_null(data, "sha256")));
  }
  const Json& parameters = base::member_or_null(record, "parameters");
  if (parameters.is_object()) {
    for (const auto& [name, value] : parameters.items()) add(name, value);
  }
  for (const char* name : {"seed", "shards", "staleness", "rounds", "objective"}) {
    add(name, base::member_or_null(record, name));
  }
  const learn::Entry* entry = registry.find(base::text_or(record, "learner", ""));
  if (entry != nullptr) {
    for (const std::string& name : entry->measures_in_json) {
      const Json& value = base::member_or_null(record, name);
      if (!value.is_structured()) add(name, value);
    }
  }
  const Json& tuned = base::member_or_null(record, "tuned");
  if (tuned.is_object()) {
    add("tuned_" + base::text_or(tuned, "score", "score"), base::member_or_null(tuned, "value"));
  }
  add("stopped_because", base::member_or_null(record, "stopped_because"));
  const Json& seconds = base::member_or_null(record, "seconds");
  if (seconds.is_object()) add("train_seconds", base::member_or_null(seconds, "train"));
  add("bytes", run.bytes);
  add("model_sha256", shortened(base::member_or_null(record, "model_sha256")));
  return all;
}

}  // namespace

std::string ListedRun::data() const {
  const auto paths =
      base::texts_in(base::member_or_null(base::member_or_null(record, "data"), "paths"));
  if (!paths || paths->empty()) return "";
  return paths->size() == 1 ? paths->front()
                            : fmt::format("{} and {} more", paths->front(), paths->size() - 1);
}

std::vector<ListedRun> list_runs(const std::vector<fs::path>& paths) {
  std::vector<ListedRun> runs;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (RunDirectory::is_run(path)) {
      runs.push_back(listed(path));
      continue;
    }
    if (!fs::is_directory(path, error)) {
      throw Error(ErrorKind::kInput, "{}: no such directory", path.string());
    }
    std::set<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      if (RunDirectory::is_run(entry.path())) found.insert(entry.path());
    }
    if (error) throw Error(ErrorKind::kSystem, "{}: {}", path.string(), error.message());
    for (const fs::path& run : found) runs.push_back(listed(run));
  }
  return runs;
}

std::vector<Difference> compare_runs(std::span<const ListedRun> runs,
                                     const learn::Registry& registry) {
  std::vector<Difference> table;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (auto& fact : facts(runs[run], registry)) {
      auto& name = fact.first;
      auto& value = fact.second;
      // clang 14 captures no structured binding.
      auto row = std::find_if(table.begin(), table.end(),
                              [&](const Difference& each) { return each.name == name; });
      if (row == table.end()) {
        table.push_back({name, std::vector<Json>(runs.size())});
        row = table.end() - 1;
      }
      row->values[run] = std::move(value);
    }
  }
  std::erase_if(table, [](const Difference& row) {
    return std::all_of(row.values.begin(), row.values.end(),
                       [&](const Json& value) { return value == row.values.front(); });
  });
  return table;
}

void check_removable(const fs::path& run) {
  std::error_code error;
  const fs::path path = run.has_filename() ? run : run.parent_path();
  if (!RunDirectory::is_run(path)) {
    throw Error(ErrorKind::kInput, "{}: is not a run directory (it holds no run.json)",
                run.string());
  }
  if (fs::is_symlink(path, error)) {
    throw Error(ErrorKind::kUsage, "{}: is a link; name the directory that it leads to",
                run.string());
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (is_of_a_run(entry.path().filename())) continue;
    throw Error(ErrorKind::kUsage,
                "{}: holds {}, which is no file of a run; move it away, or remove the directory by "
                "hand",
                run.string(), entry.path().filename().string());
  }
  RunLock::take(path);  // throws while a process writes there
}

void remove_run(const fs::path& run) {
  check_removable(run);
  const auto lock = RunLock::take(run);  // until all is gone: no process begins in between
  std::error_code error;
  fs::remove_all(run, error);
  if (error) throw Error(ErrorKind::kSystem, "{}: {}", run.string(), error.message());
}

}  // namespace meanwhile::job
