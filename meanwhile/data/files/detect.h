// Which format a file has.
#pragma once

#include <filesystem>
#include <string_view>

#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// By its name without .gz or .zst; kAuto when the name does not tell.
Format format_of_name(const std::filesystem::path& path);

// By how it begins; `fallback` when nothing else fits (see ReadOptions). `start`: some thousands of
// bytes, or all there are.
Format format_of_content(std::string_view start, Format fallback = Format::kCsv);

inline bool is_text(Format format) {
  return format == Format::kCsv || format == Format::kLibsvm || format == Format::kDocword ||
         format == Format::kText || format == Format::kLdac;
}

}  // namespace meanwhile::data
