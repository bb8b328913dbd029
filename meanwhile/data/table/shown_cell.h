// Cells of a table as a description shows them.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace meanwhile::data {

// At most so many bytes, whole characters of UTF-8.
inline std::string_view first_bytes(std::string_view text, std::size_t most = 80) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// "2024-01-31", or that and a time.
inline std::string date_shown(double days) {
  const double whole = std::floor(days);
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(whole)))};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  const auto seconds = static_cast<std::int64_t>(std::round((days - whole) * 86400));
  if (seconds == 0) return text;
  return text + fmt::format("T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace meanwhile::data
