#include "meanwhile/job/run_directory.h"

#include <algorithm>
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

RunDirectory RunDirectory::create(const fs::path& path, const Json& fields) {
  RunDirectory run(without_slash(path));
  std::error_code error;
  run.above_ = fs::absolute(run.path_).parent_path();
  while (!fs::exists(run.above_, error) && run.above_.has_relative_path()) {
    run.above_ = run.above_.parent_path();
  }
  // Another process may make, move or end a run here between any two steps: they are begun again
  // until this one has the lock of a directory without a run.
  while (run.lock_ == nullptr) {
    if (is_run(run.path_)) {
      const auto old = RunLock::take(run.path_);
      if (old == nullptr) continue;
      run.aside_ = free_name_beside(run.path_);
      fs::rename(run.path_, run.aside_, error);
      check(error, run.path_);
      base::sync_directory(run.path_.parent_path());
    } else if (!is_free(run.path_)) {
      throw Error(ErrorKind::kUsage,
                  "{} exists and is not a run directory; name a path that does not exist yet",
                  run.path_.string());
    }
    fs::create_directories(run.path_, error);
    check(error, run.path_);
    run.lock_ = RunLock::take(run.path_);
    if (is_run(run.path_)) run.lock_.reset();
  }
  base::remove_partials(run.path_);
  run.write_run(fields);
  base::sync_directory(run.path_);
  base::sync_directory(run.path_.parent_path());
  return run;
}

RunDirectory RunDirectory::open(const fs::path& path, learn::Reading& reading) {
  if (!is_run(path)) {
    throw Error(ErrorKind::kInput, "{}: is not a run directory (it holds no run.json)",
                path.string());
  }
  RunDirectory run(without_slash(path));
  run.record_ = learn::read_run_json(run.path_, reading);
  return run;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  learn::Reading reading;
  return open(path, reading);
}

void RunDirectory::lock() {
  while (lock_ == nullptr) {
    if (!is_run(path_)) {
      throw Error(ErrorKind::kSystem, "{}: is no longer a run directory", path_.string());
    }
    lock_ = RunLock::take(path_);
  }
  base::remove_partials(path_);
}

bool RunDirectory::is_free(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return true;
  if (!fs::is_directory(path, error)) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const fs::path name = entry.path().filename();
    if (name != RunLock::kName && name.extension() != base::kPartialEnding) return false;
  }
  return !error;
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

void RunDirectory::remember(const Json& fields) {
  record_.update(fields, true);
  for (const auto& [key, value] : fields.items()) {
    if (value.is_null()) record_.erase(key);
  }
}

void RunDirectory::write_run(const Json& fields) {
  remember(fields);
  learn::write_run_json(path_, record_);
}

void RunDirectory::append_metrics(const Json& line) {
  base::append_line(path_ / "metrics.jsonl", text_of(line, -1));
  ++metrics_lines_;
}

double RunDirectory::keep_metrics(std::int64_t rounds, std::int64_t lines) {
  metrics_lines_ = 0;
  const fs::path file = path_ / "metrics.jsonl";
  if (!fs::exists(file)) return 0;
  const std::string text = base::read_file(file);
  std::size_t kept = 0;
  double elapsed_s = 0;
  std::int64_t seen = 0;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    if (end == text.npos || (lines >= 0 && seen == lines)) break;
    const auto line = base::try_parse_object(std::string_view(text).substr(begin, end - begin));
    if (!line) break;
    ++seen;
    const bool of_round = line->contains("round");
    if (lines < 0 && of_round && base::integer_or(*line, "round", 0) > rounds) break;
    if (of_round) elapsed_s = base::number_or(*line, "elapsed_s", 0);
    // Unless the state counts its lines, a line about something else than a round stays when a kept
    // round follows it.
    if (lines < 0 && !of_round) continue;
    kept = end + 1;
    metrics_lines_ = seen;
  }
  if (kept < text.size()) base::write_file(file, std::string_view(text).substr(0, kept));
  return elapsed_s;
}

fs::path RunDirectory::checkpoint_memory(std::int64_t rounds) const {
  return free_memory(checkpoint_file(path_, rounds));
}

fs::path RunDirectory::model_memory() const { return free_memory(path_ / "model.safetensors"); }

void RunDirectory::write_state(const fs::path& file, StateFile state) const {
  state.metadata[learn::kMetricsLinesKey] = std::to_string(metrics_lines_);
  data::write_safetensors(file, state.tensors, state.metadata);
}

void RunDirectory::write_checkpoint(std::int64_t rounds, const learn::State& state,
                                    const std::string& data_sha256, const SavedMemory& memory) {
  const fs::path folder = path_ / "checkpoints";
  std::error_code error;
  const bool made = fs::create_directories(folder, error);
  check(error, folder);
  if (made) base::sync_directory(path_);
  const fs::path file = checkpoint_file(path_, rounds);
  write_state(file, state_file(state, rounds, data_sha256, memory));
  // A checkpoint of more rounds is one that was damaged: this run has gone on from one before it.
  for (const fs::path& other : checkpoints_in(path_)) {
    if (other.filename() > file.filename()) fs::remove(other, error);
  }
  const std::vector<fs::path> all = checkpoints_in(path_);
  for (std::size_t i = 0; i + kCheckpointsKept < all.size(); ++i) fs::remove(all[i], error);
  if (!memory.folder.empty()) remove_memory(folder, checkpoints_in(path_));
}

void RunDirectory::write_model(std::int64_t rounds, const learn::State& state,
                               const std::string& data_sha256, const SavedMemory& memory,
                               const std::string& ended) {
  StateFile file = state_file(state, rounds, data_sha256, memory);
  if (!ended.empty()) file.metadata[learn::kEndedKey] = ended;
  write_state(path_ / "model.safetensors", std::move(file));
  remove_checkpoints();
}

void RunDirectory::remove_checkpoints() {
  std::error_code error;
  fs::remove_all(path_ / "checkpoints", error);
  remove_memory(path_, {path_ / "model.safetensors"});
}

void RunDirectory::write_model(std::span<const std::byte> file) {
  base::FileWriter writer(path_ / "model.safetensors");
  writer.write(file);
  writer.commit();
  remove_checkpoints();
}

void RunDirectory::write_metrics(std::string_view lines) {
  base::write_file(path_ / "metrics.jsonl", lines);
}

void RunDirectory::write_reads(std::span<const std::byte> bytes) {
  base::write_file(path_ / "reads.bin",
                   std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void RunDirectory::write_trace(const base::Trace& trace) {
  base::write_file(path_ / "trace.json", trace.json(), base::Sync::kNone);
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
