// metrics.jsonl at a store: a line for every round, and a last line that seals the others.
//
// Lines are text, so a line that was changed may still be a line. The seal is the SHA-256 of all
// text before it: {"seal": "..."}. It says that lines are missing or changed, not who changed them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// A line of metrics.jsonl, and the step it is about.
struct Line {
  std::int64_t step = 0;
  base::Json json;
};

struct History {
  std::vector<Line> lines;
  bool whole = false;     // there was a seal, and it is that of the lines
  std::string etag = {};  // of the blob
  std::int64_t last_step() const { return lines.empty() ? -1 : lines.back().step; }
};

std::string text_of(const std::vector<Line>& lines);
std::string sealed(std::string text);
// Lines that are no JSON objects are left out. Text without a seal is not whole.
History parse_history(std::string_view text);
// Nothing when there is no such blob.
std::optional<History> get_history(storage::BlobStore& blobs, const std::string& name);

}  // namespace meanwhile::runtime
