// Files that hold a learner's state, as job/run_directory.h writes them: models and checkpoints.
// Every file is sealed (data/seal.h), and no state is used whose seal was not checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/ending.h"
#include "meanwhile/learn/run_json.h"

namespace meanwhile::learn {

// The version of the format that this program writes, and the only one it reads.
inline constexpr const char* kStateFormatVersion = "1";

// Metadata of a state beside those of the learner.
inline constexpr char kEndedKey[] = "ended";                 // why training ended
inline constexpr char kMetricsLinesKey[] = "metrics_lines";  // lines of metrics.jsonl behind it

// Opens a model or a checkpoint, whole. THROWS Error(kInput), the path first, for a file that
// cannot be read, is no model, is of a format that this program does not know, is damaged, or is
// not the model that the run.json beside it names. A file of version 0.1.0, which has no seal, is
// taken if run.json names the hash of its tensors.
data::SafetensorsFile open_state(const std::filesystem::path& path, Reading& reading);
data::SafetensorsFile open_state(const std::filesystem::path& path);
// The same for a file in memory, which is borrowed; it must be sealed.
data::SafetensorsFile open_state(std::span<const std::byte> bytes, const std::string& name);

// The training rounds behind a state. THROWS Error(kInput) when the file does not say.
std::int64_t rounds_of(const data::SafetensorsFile& file);

// The SHA-256 of the data that a state was trained on; empty when the file does not say.
std::string data_sha256_of(const data::SafetensorsFile& file);

// Why training ended with this state; kNone when it goes on, or the file is of version 0.1.0.
Ended ended_of(const data::SafetensorsFile& file);

// Lines of metrics.jsonl that were written before the state; -1 when the file does not say.
std::int64_t metrics_lines_of(const data::SafetensorsFile& file);

// The tensors that predictions need: model_sha256 is their hash.
std::map<std::string, data::Tensor> learned_tensors(const data::SafetensorsFile& file);

struct OpenedState {
  std::filesystem::path path;
  data::SafetensorsFile file;
};

// The state of a run directory with most rounds, model or checkpoint. With equally many the model,
// unless the checkpoint is of other data: a later run has begun with that. A damaged checkpoint is
// passed over for the one before it, with a note. THROWS Error(kInput) when there is no state, when
// all are damaged, and when the model is.
OpenedState open_newest(const std::filesystem::path& run, Reading& reading);
// Its path.
std::filesystem::path newest_state(const std::filesystem::path& run);

// The model in `path`: the newest state of a run directory, or the file itself. THROWS
// Error(kInput).
OpenedState open_model(const std::filesystem::path& path, Reading& reading);
OpenedState open_model(const std::filesystem::path& path);

// Whether `path` is a safetensors file that holds a model, or a run directory. Reads no more than
// the file's header. THROWS Error(kInput) for a damaged safetensors file.
bool holds_model(const std::filesystem::path& path);

}  // namespace meanwhile::learn
