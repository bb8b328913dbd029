// Turning any readable data into one safetensors file, in bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

struct ConvertResult {
  std::int64_t rows = 0, cols = 0, stored = 0;
  std::int64_t bytes = 0;  // of the file written
  UnknownWords unknown;
};

// Streams `paths` to the file `out`. Text goes through buffers of a few MiB a thread, whatever the
// size of the input; what does not fit in order (labels, weights, row starts) waits in unnamed
// files beside `out`. Nothing appears at `out` before all of the input was right.
ConvertResult convert(const std::vector<std::filesystem::path>& paths,
                      const std::filesystem::path& out, const ReadOptions& options);

}  // namespace meanwhile::data
