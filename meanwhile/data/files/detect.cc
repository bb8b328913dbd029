#include "meanwhile/data/files/detect.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

constexpr std::array<std::pair<std::string_view, Format>, 9> kNames = {
    {{"auto", Format::kAuto},
     {"csv", Format::kCsv},
     {"npy", Format::kNpy},
     {"libsvm", Format::kLibsvm},
     {"idx", Format::kIdx},
     {"docword", Format::kDocword},
     {"text", Format::kText},
     {"ldac", Format::kLdac},
     {"safetensors", Format::kSafetensors}}};

// .txt and .data may be anything, so the content decides.
constexpr std::array<std::pair<std::string_view, Format>, 11> kEndings = {
    {{".csv", Format::kCsv},
     {".tsv", Format::kCsv},
     {".npy", Format::kNpy},
     {".libsvm", Format::kLibsvm},
     {".svm", Format::kLibsvm},
     {".svmlight", Format::kLibsvm},
     {".t", Format::kLibsvm},
     {".idx", Format::kIdx},
     {".ldac", Format::kLdac},
     {".lda-c", Format::kLdac},
     {".safetensors", Format::kSafetensors}}};

using Line = std::vector<std::string>;  // tokens

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "12:..."
bool is_pair(std::string_view token) {
  const std::size_t colon = token.find(':');
  return colon != token.npos && is_digits(token.substr(0, colon));
}

// The first lines that are neither empty nor comments. The last line counts though it may be cut.
std::vector<Line> first_lines(std::string_view text, std::size_t most) {
  std::vector<Line> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = std::string(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('#')) continue;
    Line tokens;
    for (const char* p = skip_blanks(line.data()); *p != '\n';) {
      tokens.emplace_back(token_at(p));
      p = skip_blanks(p + tokens.back().size());
    }
    if (!tokens.empty()) lines.push_back(std::move(tokens));
  }
  return lines;
}

bool looks_like_docword(const std::vector<Line>& lines) {
  if (lines.size() < 3) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (lines[i].size() != 1 || !is_digits(lines[i][0])) return false;
  }
  if (lines.size() == 3) return lines[2][0] == "0";
  return lines[3].size() == 3 && std::all_of(lines[3].begin(), lines[3].end(), is_digits);
}

bool is_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  return !text.empty() && detail::from_chars(text.data(), end, value) == end;
}

// "1", "1,2", "1;2".
bool is_numbers(std::string_view token) {
  for (;;) {
    const std::size_t end = token.find_first_of(",;");
    const std::string_view field = token.substr(0, end);
    if (!field.empty() && !is_number(field)) return false;
    if (end == token.npos) return true;
    token.remove_prefix(end + 1);
  }
}

// Whether there are only numbers below the first line, which may be names; or there is only one
// line, of numbers.
bool looks_like_numbers(const std::vector<Line>& lines) {
  const auto numbers = [](const Line& line) {
    return std::all_of(line.begin(), line.end(), is_numbers);
  };
  return !lines.empty() && std::all_of(lines.begin() + (lines.size() > 1), lines.end(), numbers);
}

// Text may well say 12:30 somewhere.
bool looks_like_pairs(const std::vector<Line>& lines) {
  const auto pairs = [](const Line& line) {
    const auto end = std::find_if(line.begin(), line.end(),
                                  [](const std::string& token) { return token[0] == '#'; });
    return is_number(line[0]) && std::all_of(line.begin() + 1, end, [](const std::string& token) {
             return is_pair(token) || token.starts_with("qid:");
           });
  };
  return std::all_of(lines.begin(), lines.end(), pairs);
}

}  // namespace

Format format_of_name(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  const std::string text = name.string();
  if (text.starts_with("docword") && text.ends_with(".txt")) return Format::kDocword;
  if (text.ends_with("-ubyte")) return Format::kIdx;
  for (const auto& [ending, format] : kEndings) {
    if (name.extension() == ending) return format;
  }
  return Format::kAuto;
}

Format format_of_content(std::string_view start, Format fallback) {
  if (start.starts_with("\x93NUMPY")) return Format::kNpy;
  if (start.size() >= 4 && start[0] == 0 && start[1] == 0 && start[2] >= 8 && start[2] <= 14 &&
      start[3] >= 1 && start[3] <= 8) {
    return Format::kIdx;
  }
  if (start.size() > 8 && start[8] == '{') {
    std::uint64_t header_bytes;
    std::memcpy(&header_bytes, start.data(), 8);
    if (header_bytes < (std::uint64_t{1} << 32)) return Format::kSafetensors;
  }
  const std::vector<Line> lines = first_lines(start, 8);
  for (const Line& line : lines) {
    if (line.size() > 1 && (is_pair(line[1]) || line[1].starts_with("qid:")) &&
        (fallback != Format::kText || looks_like_pairs(lines))) {
      return Format::kLibsvm;
    }
  }
  if (looks_like_docword(lines)) return Format::kDocword;
  return looks_like_numbers(lines) ? Format::kCsv : fallback;
}

std::string to_string(Format format) {
  for (const auto& [name, value] : kNames) {
    if (value == format) return std::string(name);
  }
  return "";
}

Format parse_format(const std::string& name) {
  std::vector<std::string_view> known;
  for (const auto& [text, format] : kNames) {
    if (text == name) return format;
    known.push_back(text);
  }
  throw base::Error(base::ErrorKind::kUsage, "format '{}' is unknown; known are {}", name,
                    list_text(known));
}

}  // namespace meanwhile::data
