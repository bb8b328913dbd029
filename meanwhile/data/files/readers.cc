#include "meanwhile/data/files/readers.h"

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/text/byte_stream.h"

namespace meanwhile::data {

namespace {

constexpr const Reader* kReaders[] = {
    &kCsvReader,     &kNpyReader,  &kLibsvmReader, &kIdxReader,
    &kDocwordReader, &kTextReader, &kLdacReader,   &kSafetensorsReader,
};

bool fits(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  const std::size_t least = before.empty() ? 1 : 0;
  return name.size() >= before.size() + least + after.size() && name.starts_with(before) &&
         name.ends_with(after);
}

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
    for (const std::string_view pattern : reader->file_names) {
      if (!pattern.empty() && fits(name, pattern)) return reader;
    }
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
  return *best;  // CSV or text matches anything
}

}  // namespace meanwhile::data
