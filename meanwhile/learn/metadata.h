// JSON in the metadata of a state file.
#pragma once

#include <string_view>

#include "meanwhile/base/json.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::learn {

// The JSON object under this key. `what`: that the file should hold, as "a k-means model". THROWS
// Error(kInput) when there is no such key, or its text is no JSON object.
base::Json metadata_json(const data::SafetensorsFile& file, const char* key, std::string_view what);

// The learner that made the file; empty when the file does not say.
std::string learner_of(const data::SafetensorsFile& file);

}  // namespace meanwhile::learn
