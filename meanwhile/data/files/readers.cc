#include "meanwhile/data/files/readers.h"

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/file_names.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/text/byte_stream.h"

namespace meanwhile::data {

namespace {

constexpr const Reader* kReaders[] = {
    &kCsvReader,     &kJsonlReader, &kParquetReader, &kArrowReader,
    &kNpyReader,     &kNpzReader,   &kLibsvmReader,  &kIdxReader,
    &kDocwordReader, &kTextReader,  &kLdacReader,    &kSafetensorsReader,
};

// Formats that are known by their first bytes and not read.
struct Unread {
  std::string_view bytes, what;
};
constexpr Unread kUnread[] = {
    {"BZh", "compressed by bzip2; gzip and zstd are read"},
    {{"\xfd"
      "7zXZ\0",
      6},
     "compressed by xz; gzip and zstd are read"},
    {{"PK\x03\x04", 4}, "a zip archive, as xlsx files are; unpack it, or save it as CSV or NPY"},
    {"FEA1", "a Feather file of version 1; save it as version 2"},
    {{"\xd0\xcf\x11\xe0", 4}, "an Excel file; save it as CSV"},
    {{"\x89HDF", 4}, "an HDF5 file; save it as CSV or NPY"},
    {"%PDF", "a PDF document; save its text"},
};

}  // namespace

std::span<const Reader* const> readers() { return kReaders; }

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"auto"};
  for (const Reader* reader : readers()) names.emplace_back(reader->name);
  return names;
}

const Reader* parse_format(const std::string& name) {
  if (name == "auto") return nullptr;
  for (const Reader* reader : readers()) {
    if (reader->name == name) return reader;
  }
  throw base::Error(base::ErrorKind::kUsage, "format '{}' is unknown; known are {}", name,
                    list_text(format_names()));
}

const Reader* reader_of_name(const std::filesystem::path& path) {
  const std::string name = uncompressed_name(path).filename().string();
  for (const Reader* reader : readers()) {
    if (fits_any(name, reader->file_names)) return reader;
  }
  return nullptr;
}

const Reader& reader_of_content(std::string_view bytes, bool expect_documents) {
  const FileStart start(bytes, expect_documents);
  const Reader* best = nullptr;
  Match best_match = Match::kNo;
  for (const Reader* reader : readers()) {
    if (reader->recognise == nullptr) continue;
    const Match match = reader->recognise(start);
    if (match <= best_match) continue;
    best = reader;
    best_match = match;
  }
  if (best_match == Match::kCertain) return *best;
  for (const Unread& unread : kUnread) {
    if (!bytes.starts_with(unread.bytes)) continue;
    throw base::Error(base::ErrorKind::kInput, "is {}", unread.what);
  }
  return *best;  // CSV or text matches anything
}

}  // namespace meanwhile::data
