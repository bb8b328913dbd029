// Converts any readable data into one safetensors file, in bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

struct ConvertResult {
  std::int64_t rows = 0, cols = 0, stored = 0;
  std::int64_t bytes = 0;  // size of the file
  UnknownWords unknown;
  std::vector<std::string> notes = {};  // what a user should know
};

// Streams `paths` to the file `out`. Text goes through buffers of a few MiB a thread, whatever the
// size of the input. Categories are known only when all rows are: raw rows then wait in the file
// and are encoded from there. Arrays that come later in the file (labels, weights, row starts) wait
// in unnamed files beside `out`. The file appears at `out` when all of it is written. THROWS as
// read().
ConvertResult convert(const std::vector<std::filesystem::path>& paths,
                      const std::filesystem::path& out, const ReadOptions& options);

}  // namespace meanwhile::data
