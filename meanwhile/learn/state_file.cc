#include "meanwhile/learn/state_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

constexpr char kModelName[] = "model.safetensors";

// Empty when the file does not say.
std::string said(const data::SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
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

// A state by what its header says, not yet checked.
struct Candidate {
  fs::path path;
  bool is_model = false;
  std::int64_t rounds = 0;
  std::string data = {};  // the hash of its data, where the file says it
};

// The run directory that a state lies in; empty: none.
fs::path run_of(const fs::path& state) {
  std::error_code error;
  const fs::path folder = fs::absolute(state, error).parent_path();
  if (fs::is_regular_file(folder / "run.json", error)) return folder;
  const fs::path above = folder.parent_path();
  const bool checkpoint = folder.filename() == "checkpoints";
  return checkpoint && fs::is_regular_file(above / "run.json", error) ? above : fs::path();
}

// The hash that the run says its last state has; empty when it does not say.
std::string hash_in(const Json& record) { return base::text_or(record, "model_sha256", ""); }

// A whole seal says that the file is as it was written, not that it is the model of this run.
std::string not_of_run(const fs::path& path, const data::SafetensorsFile& file, Reading& reading) {
  const fs::path run = run_of(path);
  if (run.empty()) return "";
  const Json record = read_run_json(run, reading);
  // While a run goes on, and after it was interrupted, the hash is not that of the model.
  if (path.filename() != kModelName || base::text_or(record, "status", "") != "done") return "";
  const std::string expected = hash_in(record);
  if (expected.empty() || expected == data::sha256(learned_tensors(file))) return "";
  return "is not the model of its run: run.json names another model_sha256";
}

// Version 0.1.0 sealed nothing; the hash of the tensors is in run.json after a run has ended.
std::string not_named_by_run(const fs::path& path, const data::SafetensorsFile& file,
                             Reading& reading) {
  const fs::path run = run_of(path);
  const std::string expected = run.empty() ? "" : hash_in(read_run_json(run, reading));
  if (expected.empty()) {
    return fmt::format("is of version {}, which wrote no seal, and no run.json names its hash",
                       kUnsealedVersion);
  }
  if (expected == data::sha256(learned_tensors(file))) return "";
  return "is damaged: its tensors are not those whose hash is in run.json";
}

void check_seal(const fs::path& path, const data::SafetensorsFile& file, Reading& reading) {
  const data::Seal seal = file.seal();
  const std::string wrong =
      seal == data::Seal::kWhole                  ? not_of_run(path, file, reading)
      : said(file, "version") == kUnsealedVersion ? not_named_by_run(path, file, reading)
      : seal == data::Seal::kBroken               ? "is damaged: its seal is not that of its bytes"
                                                  : "is damaged: it has lost its seal";
  if (!wrong.empty()) refuse_unsealed(path, wrong, reading);
}

void check_is_model(const data::SafetensorsFile& file, const std::string& name) {
  if (said(file, "kind") != "model") {
    throw Error(ErrorKind::kInput, "{}: is a safetensors file, but not a model", name);
  }
  const std::string version = said(file, "format_version");
  if (version != kStateFormatVersion) {
    throw Error(ErrorKind::kInput,
                "{}: is a model of format_version {}; this program reads version {}", name, version,
                kStateFormatVersion);
  }
}

}  // namespace

data::SafetensorsFile open_state(const fs::path& path, Reading& reading) {
  data::SafetensorsFile file(path);
  check_is_model(file, path.string());
  check_seal(path, file, reading);
  return file;
}

data::SafetensorsFile open_state(std::span<const std::byte> bytes, const std::string& name) {
  data::SafetensorsFile file(bytes, name);
  check_is_model(file, name);
  if (file.seal() != data::Seal::kWhole) {
    throw Error(ErrorKind::kInput, "{}: is damaged: its seal is not that of its bytes", name);
  }
  return file;
}

data::SafetensorsFile open_state(const fs::path& path) {
  Reading reading;
  return open_state(path, reading);
}

std::int64_t rounds_of(const data::SafetensorsFile& file) {
  const std::string text = said(file, "rounds");
  std::int64_t rounds = -1;
  std::from_chars(text.data(), text.data() + text.size(), rounds);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // more than any run can do
  if (rounds < 0 || rounds > kMost) {
    throw Error(ErrorKind::kInput, "is not a model file: its metadata does not count the rounds");
  }
  return rounds;
}

std::string data_sha256_of(const data::SafetensorsFile& file) { return said(file, "data_sha256"); }

Ended ended_of(const data::SafetensorsFile& file) { return ended_from_text(said(file, kEndedKey)); }

std::int64_t metrics_lines_of(const data::SafetensorsFile& file) {
  const std::string text = said(file, kMetricsLinesKey);
  std::int64_t lines = -1;
  std::from_chars(text.data(), text.data() + text.size(), lines);
  return lines;
}

std::map<std::string, data::Tensor> learned_tensors(const data::SafetensorsFile& file) {
  std::map<std::string, data::Tensor> learned = file.tensors();
  std::erase_if(learned, [](const auto& tensor) { return tensor.first.starts_with("carried/"); });
  return learned;
}

OpenedState open_newest(const fs::path& run, Reading& reading) {
  std::vector<Candidate> candidates;
  for (const fs::path& path : checkpoints_in(run)) candidates.push_back({path});
  if (fs::exists(run / kModelName)) candidates.push_back({run / kModelName, true});
  if (candidates.empty()) {
    throw Error(ErrorKind::kInput, "{}: holds neither a model nor a checkpoint yet", run.string());
  }
  std::optional<Error> damaged;
  const auto pass_over = [&](const Candidate& candidate, const Error& e) {
    if (candidate.is_model) throw e;
    reading.notes.push_back(fmt::format("{}; the state before it is used instead", e.what()));
    damaged = e;
  };
  std::vector<Candidate> readable;
  for (Candidate& candidate : candidates) {
    try {
      const data::SafetensorsFile file(candidate.path);
      try {
        candidate.rounds = rounds_of(file);
      } catch (Error& e) {
        throw e.in(candidate.path.string());
      }
      candidate.data = data_sha256_of(file);
      readable.push_back(candidate);
    } catch (const Error& e) {
      pass_over(candidate, e);
    }
  }
  // Newest first. Of equally many rounds the model, unless a checkpoint is of other data.
  const std::string model_data =
      !readable.empty() && readable.back().is_model ? readable.back().data : "";
  const auto order = [&](const Candidate& state) {
    const bool later_run = !state.is_model && !state.data.empty() && state.data != model_data;
    return std::pair(state.rounds, later_run ? 2 : state.is_model ? 1 : 0);
  };
  std::stable_sort(readable.begin(), readable.end(),
                   [&](const Candidate& a, const Candidate& b) { return order(a) > order(b); });
  for (const Candidate& candidate : readable) {
    try {
      return {candidate.path, open_state(candidate.path, reading)};
    } catch (const Error& e) {
      pass_over(candidate, e);
    }
  }
  reading.notes.clear();
  throw *damaged;
}

fs::path newest_state(const fs::path& run) {
  Reading reading;
  return open_newest(run, reading).path;
}

OpenedState open_model(const fs::path& path, Reading& reading) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ErrorKind::kInput, "{}: no such run directory or model file", path.string());
  }
  if (!fs::is_directory(path, error)) return {path, open_state(path, reading)};
  if (!fs::is_regular_file(path / "run.json", error)) {
    throw Error(ErrorKind::kInput, "{}: is not a run directory (it holds no run.json)",
                path.string());
  }
  return open_newest(path, reading);
}

OpenedState open_model(const fs::path& path) {
  Reading reading;
  return open_model(path, reading);
}

bool holds_model(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return fs::is_regular_file(path / "run.json", error);
  if (path.extension() != ".safetensors") return false;
  return said(data::SafetensorsFile(path), "kind") == "model";
}

}  // namespace meanwhile::learn
