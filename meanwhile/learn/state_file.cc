#include "meanwhile/learn/state_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

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

// Where a state comes from.
struct Origin {
  std::int64_t rounds = 0;
  std::string data;  // the hash of its data, where the file says it
};

Origin origin_of(const fs::path& path) {
  const data::SafetensorsFile file(path);
  try {
    return {rounds_of(file), data_sha256_of(file)};
  } catch (Error& e) {
    throw e.in(path.string());
  }
}

}  // namespace

data::SafetensorsFile open_state(const fs::path& path) {
  data::SafetensorsFile file(path);
  if (said(file, "kind") != "model") {
    throw Error(ErrorKind::kInput, "{}: is a safetensors file, but not a model", path.string());
  }
  const std::string version = said(file, "format_version");
  if (version != kStateFormatVersion) {
    throw Error(ErrorKind::kInput,
                "{}: is a model of format_version {}; this program reads version {}", path.string(),
                version, kStateFormatVersion);
  }
  return file;
}

std::int64_t rounds_of(const data::SafetensorsFile& file) {
  const std::string text = said(file, "rounds");
  std::int64_t rounds = -1;
  std::from_chars(text.data(), text.data() + text.size(), rounds);
  if (rounds < 0) {
    throw Error(ErrorKind::kInput, "is not a model file: its metadata does not count the rounds");
  }
  return rounds;
}

std::string data_sha256_of(const data::SafetensorsFile& file) { return said(file, "data_sha256"); }

fs::path newest_state(const fs::path& run) {
  std::vector<fs::path> candidates = checkpoints_in(run);
  if (fs::exists(run / "model.safetensors")) candidates.push_back(run / "model.safetensors");
  std::optional<fs::path> newest;
  std::optional<Error> unreadable;
  Origin best;
  for (const fs::path& candidate : candidates) {
    try {
      Origin origin = origin_of(candidate);
      if (newest && origin.rounds < best.rounds) continue;
      // The model comes last.
      if (newest && origin.rounds == best.rounds && !best.data.empty() &&
          origin.data != best.data) {
        continue;
      }
      newest = candidate;
      best = std::move(origin);
    } catch (const Error& e) {
      unreadable = e;
    }
  }
  if (newest) return *newest;
  if (unreadable) throw *unreadable;
  throw Error(ErrorKind::kInput, "{}: holds neither a model nor a checkpoint yet", run.string());
}

fs::path model_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ErrorKind::kInput, "{}: no such run directory or model file", path.string());
  }
  if (!fs::is_directory(path, error)) return path;
  if (!fs::is_regular_file(path / "run.json", error)) {
    throw Error(ErrorKind::kInput, "{}: is not a run directory (it holds no run.json)",
                path.string());
  }
  return newest_state(path);
}

bool holds_model(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return fs::is_regular_file(path / "run.json", error);
  if (path.extension() != ".safetensors") return false;
  return said(data::SafetensorsFile(path), "kind") == "model";
}

}  // namespace meanwhile::learn
