#include "meanwhile/learn/metadata.h"

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

base::Json metadata_json(const data::SafetensorsFile& file, const char* key,
                         std::string_view what) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    throw base::Error(base::ErrorKind::kInput, "not {}: no '{}' in its metadata", what, key);
  }
  std::optional<base::Json> json = base::try_parse_object(found->second);
  if (!json) {
    throw base::Error(base::ErrorKind::kInput, "not {}: '{}' in its metadata is no JSON object",
                      what, key);
  }
  return *std::move(json);
}

std::string learner_of(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("learner");
  return found == file.metadata().end() ? "" : found->second;
}

}  // namespace meanwhile::learn
