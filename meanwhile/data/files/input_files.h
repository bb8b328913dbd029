// The files that paths stand for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/reader.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

struct InputFile {
  std::filesystem::path path;
  const Reader* reader = nullptr;      // never null when find_inputs returns it
  bool plain = false;                  // a regular file, not compressed: it can be mapped
  std::shared_ptr<TextSource> opened;  // present for a pipe, which cannot be opened twice
  std::shared_ptr<const base::Buffer<std::byte>> held =
      nullptr;  // the whole pipe, to be read twice
};

// The files that `paths` stand for, each with its format. The files of a directory are its regular
// files in order of name, except those that begin with '.' or '_': other programs hide markers so.
// THROWS Error(kInput) for a path that does not exist and a directory without files, Error(kUsage)
// if there are no paths or standard input is among them twice.
std::vector<InputFile> find_inputs(const std::vector<std::filesystem::path>& paths,
                                   const ReadOptions& options);

// The files as parse_text() takes them.
std::vector<TextInput> text_inputs(const std::vector<InputFile>& files);

// The bytes of a file: mapped if it is plain, otherwise in memory and decompressed. THROWS
// Error(kInput) if it cannot be read or is empty.
BinaryFile open_binary(const InputFile& file, const ReadOptions& options);

}  // namespace meanwhile::data
