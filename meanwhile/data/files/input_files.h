// The files that paths stand for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

struct InputFile {
  std::filesystem::path path;
  Format format = Format::kAuto;       // never kAuto when find_inputs returns it
  bool plain = false;                  // a regular file, not compressed: it can be mapped
  std::shared_ptr<TextSource> opened;  // what cannot be opened twice: a pipe
  std::shared_ptr<const base::Buffer<std::byte>> held = nullptr;  // a pipe, to be read twice
};

// The files of a directory are its regular files in order of name, but for those that begin with
// '.' or '_' (as others hide markers of theirs). THROWS Error(kInput) for what is missing or empty,
// Error(kUsage) when there are no paths, or standard input is among them twice.
std::vector<InputFile> find_inputs(const std::vector<std::filesystem::path>& paths, Format format,
                                   Format fallback = Format::kCsv);

}  // namespace meanwhile::data
