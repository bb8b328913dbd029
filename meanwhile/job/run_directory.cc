#include "meanwhile/job/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/version.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

constexpr std::size_t kCheckpointsKept = 2;

// "runs/a/" is "runs/a".
fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

void check(const std::error_code& error, const fs::path& path) {
  if (error) throw Error(ErrorKind::kSystem, "{}: {}", path.string(), error.message());
}

fs::path free_name_beside(const fs::path& path) {
  for (int number = 1;; ++number) {
    fs::path name = path;
    name += fmt::format(".{}", number);
    if (!fs::exists(fs::symlink_status(name))) return name;
  }
}

// Oldest first.
std::vector<fs::path> checkpoints_in(const fs::path& run) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", error)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The folder of memory that the state at `path` names; empty: none, or there is no such state.
std::string memory_of(const fs::path& path) {
  try {
    if (!fs::exists(path)) return "";
    const auto saved = saved_memory(data::SafetensorsFile(path));
    return saved ? saved->folder : "";
  } catch (const Error&) {
    return "";
  }
}

// A folder beside `state` that it does not name: a checkpoint may be written twice in one round.
fs::path free_memory(const fs::path& state) {
  fs::path folder = state;
  folder.replace_extension(".memory");
  if (folder.filename() == memory_of(state)) folder.replace_extension(".second.memory");
  std::error_code error;
  fs::remove_all(folder, error);
  return folder;
}

// Removes the folders of memory in `folder` that none of `states` names.
void remove_memory(const fs::path& folder, const std::vector<fs::path>& states) {
  std::vector<fs::path> unused;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".memory") continue;
    const bool used = std::any_of(states.begin(), states.end(), [&](const fs::path& state) {
      return memory_of(state) == entry.path().filename();
    });
    if (!used) unused.push_back(entry.path());
  }
  for (const fs::path& old : unused) fs::remove_all(old, error);
}

fs::path checkpoint_file(const fs::path& run, std::int64_t rounds) {
  return run / "checkpoints" / fmt::format("round-{:08}.safetensors", rounds);
}

// Paths and command lines need not be UTF-8; what is not is replaced.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

RunDirectory RunDirectory::create(const fs::path& path) {
  RunDirectory run(without_slash(path));
  std::error_code error;
  if (is_run(run.path_)) {
    run.aside_ = free_name_beside(run.path_);
    fs::rename(run.path_, run.aside_, error);
    check(error, run.path_);
  } else if (fs::exists(run.path_, error) &&
             !(fs::is_directory(run.path_, error) && fs::is_empty(run.path_, error))) {
    throw Error(ErrorKind::kUsage,
                "{}: exists and is not a run directory; name one that does not exist yet",
                run.path_.string());
  }
  run.above_ = fs::absolute(run.path_).parent_path();
  while (!fs::exists(run.above_, error) && run.above_.has_relative_path()) {
    run.above_ = run.above_.parent_path();
  }
  fs::create_directories(run.path_, error);
  check(error, run.path_);
  run.write_run({{"version", base::kVersion}});
  return run;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  if (!is_run(path)) {
    throw Error(ErrorKind::kInput, "{}: is not a run directory (it holds no run.json)",
                path.string());
  }
  return RunDirectory(without_slash(path));
}

bool RunDirectory::is_run(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / "run.json", error);
}

void RunDirectory::discard() {
  std::error_code error;
  fs::remove_all(path_, error);
  check(error, path_);
  if (!aside_.empty()) {
    fs::rename(aside_, path_, error);
    check(error, aside_);
  }
  // Folders that others put something in meanwhile are not empty, and stay.
  for (fs::path made = fs::absolute(path_).parent_path(); made != above_;
       made = made.parent_path()) {
    if (!fs::remove(made, error)) break;
  }
}

fs::path RunDirectory::newest_state() const { return learn::newest_state(path_); }

void RunDirectory::write_run(const Json& fields) {
  Json all = is_run(path_) ? run() : Json::object();
  all.update(fields, true);
  for (const auto& [key, value] : fields.items()) {
    if (value.is_null()) all.erase(key);
  }
  base::write_file(path_ / "run.json", text_of(all, 2) + "\n");
}

Json RunDirectory::run() const {
  const fs::path file = path_ / "run.json";
  Json json = base::parse_json(base::read_file(file), file.string());
  if (!json.is_object()) {
    throw Error(ErrorKind::kInput, "{}: is not a JSON object", file.string());
  }
  return json;
}

void RunDirectory::append_metrics(const Json& line) {
  const fs::path file = path_ / "metrics.jsonl";
  const std::string text = text_of(line, -1) + "\n";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) throw base::system_error(file.string(), errno);
  // One write a line: a reader, or a crash, meets whole lines.
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int failure = written < 0 ? errno : ENOSPC;
  close(fd);
  if (written != static_cast<ssize_t>(text.size())) {
    throw base::system_error(fmt::format("writing {}", file.string()), failure);
  }
}

double RunDirectory::keep_metrics(std::int64_t rounds) {
  const fs::path file = path_ / "metrics.jsonl";
  if (!fs::exists(file)) return 0;
  const std::string text = base::read_file(file);
  std::size_t kept = 0;
  double elapsed_s = 0;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    if (end == text.npos) break;
    const auto line = base::try_parse_object(std::string_view(text).substr(begin, end - begin));
    if (!line) break;
    // A line about something else than a round stays when a kept round follows it.
    if (!line->contains("round")) continue;
    if (base::integer_or(*line, "round", 0) > rounds) break;
    kept = end + 1;
    elapsed_s = base::number_or(*line, "elapsed_s", 0);
  }
  if (kept < text.size()) base::write_file(file, std::string_view(text).substr(0, kept));
  return elapsed_s;
}

fs::path RunDirectory::checkpoint_memory(std::int64_t rounds) const {
  return free_memory(checkpoint_file(path_, rounds));
}

fs::path RunDirectory::model_memory() const { return free_memory(path_ / "model.safetensors"); }

void RunDirectory::write_checkpoint(std::int64_t rounds, const learn::State& state,
                                    const std::string& data_sha256, const SavedMemory& memory) {
  const fs::path folder = path_ / "checkpoints";
  std::error_code error;
  fs::create_directories(folder, error);
  check(error, folder);
  write_state(checkpoint_file(path_, rounds), state, rounds, data_sha256, memory);
  const std::vector<fs::path> all = checkpoints_in(path_);
  for (std::size_t i = 0; i + kCheckpointsKept < all.size(); ++i) fs::remove(all[i], error);
  if (!memory.folder.empty()) remove_memory(folder, checkpoints_in(path_));
}

void RunDirectory::write_model(std::int64_t rounds, const learn::State& state,
                               const std::string& data_sha256, const SavedMemory& memory) {
  write_state(path_ / "model.safetensors", state, rounds, data_sha256, memory);
  std::error_code error;
  fs::remove_all(path_ / "checkpoints", error);
  remove_memory(path_, {path_ / "model.safetensors"});
}

void RunDirectory::write_model(std::span<const std::byte> file) {
  base::FileWriter writer(path_ / "model.safetensors");
  writer.write(file);
  writer.commit();
  std::error_code error;
  fs::remove_all(path_ / "checkpoints", error);
  remove_memory(path_, {path_ / "model.safetensors"});
}

void RunDirectory::write_metrics(std::string_view lines) {
  base::write_file(path_ / "metrics.jsonl", lines);
}

void RunDirectory::write_trace(const base::Trace& trace) {
  base::write_file(path_ / "trace.json", trace.json());
}

StateFile state_file(const learn::State& state, std::int64_t rounds, const std::string& data_sha256,
                     const SavedMemory& memory) {
  std::map<std::string, data::Tensor> tensors = state.learned;
  for (const auto& [name, tensor] : state.carried) tensors.emplace("carried/" + name, tensor);
  data::Metadata metadata = {
      {"kind", "model"},
      {"learner", state.learner},
      {"parameters", text_of(state.parameters, -1)},
      {"progress", text_of(state.progress, -1)},
      {"about", text_of(state.about.is_null() ? base::Json::object() : state.about, -1)},
      {"rounds", std::to_string(rounds)},
      {"version", base::kVersion},
      {"format_version", learn::kStateFormatVersion}};
  if (!data_sha256.empty()) metadata["data_sha256"] = data_sha256;
  if (!memory.folder.empty()) metadata[kMemoryKey] = text_of(memory);
  return {std::move(tensors), std::move(metadata)};
}

void write_state(const fs::path& path, const learn::State& state, std::int64_t rounds,
                 const std::string& data_sha256, const SavedMemory& memory) {
  const StateFile file = state_file(state, rounds, data_sha256, memory);
  data::write_safetensors(path, file.tensors, file.metadata);
}

}  // namespace meanwhile::job
