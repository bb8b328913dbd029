// Files that hold a learner's state, as job/run_directory.h writes them: models and checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "meanwhile/data/safetensors.h"

namespace meanwhile::learn {

// The version of the format that this program writes, and the only one it reads.
inline constexpr const char* kStateFormatVersion = "1";

// Opens a model or a checkpoint. THROWS Error(kInput), the path first, for a file that cannot be
// read, is no model, or is of a format that this program does not know.
data::SafetensorsFile open_state(const std::filesystem::path& path);

// The training rounds behind a state. THROWS Error(kInput) when the file does not say.
std::int64_t rounds_of(const data::SafetensorsFile& file);

// The SHA-256 of the data that a state was trained on; empty when the file does not say.
std::string data_sha256_of(const data::SafetensorsFile& file);

// The state of a run directory with most rounds that can be read, model or checkpoint. With equally
// many the model, unless the checkpoint is of other data: a later run has begun with that.
// THROWS Error(kInput) when there is none.
std::filesystem::path newest_state(const std::filesystem::path& run);

// The model in `path`: the newest state of a run directory, or the file itself. THROWS
// Error(kInput).
std::filesystem::path model_file(const std::filesystem::path& path);

// Whether `path` is a safetensors file that holds a model, or a run directory. Reads no more than
// the file's header. THROWS Error(kInput) for a damaged safetensors file.
bool holds_model(const std::filesystem::path& path);

}  // namespace meanwhile::learn
