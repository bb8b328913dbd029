// The table of file formats. A new format is a source file that defines its Reader, a name here and
// a line in readers.cc. Detection, reading, conversion, --format and its help, and the table in
// doc/formats.md follow.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/files/reader.h"

namespace meanwhile::data {

extern const Reader kCsvReader, kNpyReader, kLibsvmReader, kIdxReader, kDocwordReader, kTextReader,
    kLdacReader, kSafetensorsReader, kJsonlReader, kNpzReader, kParquetReader, kArrowReader;

// All formats, in the order in which help and messages name them.
std::span<const Reader* const> readers();

// "auto", then the names of all formats.
std::vector<std::string> format_names();

// The format of this name; null for "auto". THROWS Error(kUsage) naming the known ones.
const Reader* parse_format(const std::string& name);

// The format that the name of the file tells, or null.
const Reader* reader_of_name(const std::filesystem::path& path);

// The format that the content tells. `start`: some thousands of bytes, or all there are.
// `expect_documents`: see ReadOptions. THROWS Error(kInput) for a format that is known and not
// read.
const Reader& reader_of_content(std::string_view start, bool expect_documents = false);

}  // namespace meanwhile::data
