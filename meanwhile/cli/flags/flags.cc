#include "meanwhile/cli/flags/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/nearest.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

std::int64_t parse_whole(const std::string& name, const std::string& text, std::int64_t least,
                         std::int64_t most) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool number = error == std::errc() && stopped == end;
  if (!number || value < least || value > most) {
    const bool open = most == std::numeric_limits<std::int64_t>::max();
    throw Error(ErrorKind::kUsage, "{}: expected a whole number of at least {}{}, got '{}'", name,
                least, open ? "" : fmt::format(" and at most {}", most), text);
  }
  return value;
}

double parse_real(const std::string& name, const std::string& text, double least) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool number = error == std::errc() && stopped == end && std::isfinite(value);
  if (!number || value < least) {
    throw Error(ErrorKind::kUsage, "{}: expected a number of at least {}, got '{}'", name, least,
                text);
  }
  return value;
}

std::int64_t parse_bytes(const std::string& name, const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(stopped, static_cast<std::size_t>(end - stopped));
  bool good = error == std::errc() && std::isfinite(value) && value > 0;
  if (good && !unit.empty() && kUnits.find(unit[0]) != kUnits.npos) {
    value *= std::exp2(10 * static_cast<double>(kUnits.find(unit[0]) + 1));
    unit.remove_prefix(1);
    if (unit == "iB" || unit == "B") unit = {};
  }
  good = good && unit.empty() && value < 0x1p62;
  if (!good) {
    throw Error(ErrorKind::kUsage,
                "{}: expected a number of bytes, such as 500M (K, M, G or T), got '{}'", name,
                text);
  }
  return static_cast<std::int64_t>(value);
}

const std::string& parse_choice(const std::string& name, const std::string& text,
                                const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    throw Error(ErrorKind::kUsage, "{}: unknown value '{}'; known are {}{}", name, text,
                base::listed(choices), base::did_you_mean(text, choices));
  }
  return text;
}

void check_not_read(const std::string& out, const std::vector<std::string>& read) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (out.empty() || out == "-" || !fs::exists(out, error)) return;
  const fs::path folder = fs::absolute(out, error).parent_path();
  for (const std::string& file : read) {
    const bool inside = fs::is_directory(file, error) && fs::equivalent(file, folder, error);
    if (inside || fs::equivalent(file, out, error)) {
      throw Error(ErrorKind::kUsage, "{} cannot be both read and written", out);
    }
  }
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain = "-_./+,:=@%";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kPlain.find(c) != kPlain.npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace meanwhile::cli
