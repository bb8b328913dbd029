#include "meanwhile/data/table/cell.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace meanwhile::data {

namespace {

bool same_word(std::string_view cell, std::string_view word) {
  return cell.size() == word.size() &&
         std::equal(cell.begin(), cell.end(), word.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

// Takes what it reads off the front.
class Digits {
 public:
  explicit Digits(std::string_view text) : text_(text) {}

  std::string_view rest() const { return text_; }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // A number of exactly `count` digits, at most `most`.
  std::optional<int> number(std::size_t count, int most) {
    if (text_.size() < count) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return std::nullopt;
      value = 10 * value + (text_[i] - '0');
    }
    if (value > most) return std::nullopt;
    text_.remove_prefix(count);
    return value;
  }
  // Digits behind a point, as a fraction.
  std::optional<double> fraction() {
    double value = 0, unit = 1;
    std::size_t count = 0;
    for (; count < text_.size() && text_[count] >= '0' && text_[count] <= '9'; ++count) {
      unit *= 10;
      if (count < 15) value = 10 * value + (text_[count] - '0');
      if (count >= 15) unit /= 10;
    }
    if (count == 0) return std::nullopt;
    text_.remove_prefix(count);
    return value / unit;
  }

 private:
  std::string_view text_;
};

// Seconds of the day, with the zone taken off; nothing when the rest is no time.
std::optional<double> parse_time(Digits& text) {
  const auto hours = text.number(2, 23);
  if (!hours || !text.take(':')) return std::nullopt;
  const auto minutes = text.number(2, 59);
  if (!minutes) return std::nullopt;
  double seconds = *hours * 3600.0 + *minutes * 60.0;
  if (text.take(':')) {
    const auto whole = text.number(2, 60);
    if (!whole) return std::nullopt;
    seconds += *whole;
    if (text.take('.')) {
      const auto part = text.fraction();
      if (!part) return std::nullopt;
      seconds += *part;
    }
  }
  if (text.take('Z')) return seconds;
  const bool east = text.take('+');
  if (!east && !text.take('-')) return seconds;
  const auto zone_hours = text.number(2, 23);
  text.take(':');
  const auto zone_minutes = text.number(2, 59);
  if (!zone_hours || !zone_minutes) return std::nullopt;
  const double zone = *zone_hours * 3600.0 + *zone_minutes * 60.0;
  return east ? seconds - zone : seconds + zone;
}

}  // namespace

bool is_missing(std::string_view cell) {
  switch (cell.size()) {
    case 0:
      return true;
    case 1:
      return cell == "?";
    case 2:
      return same_word(cell, "na");
    case 3:
      return same_word(cell, "nan") || same_word(cell, "n/a");
    case 4:
      return same_word(cell, "null");
    default:
      return false;
  }
}

std::optional<double> parse_boolean(std::string_view cell) {
  if (cell.size() < 2 || cell.size() > 5) return std::nullopt;
  if (cell == "true" || cell == "yes") return 1;
  if (cell == "false" || cell == "no") return 0;
  if (same_word(cell, "true") || same_word(cell, "yes")) return 1;
  if (same_word(cell, "false") || same_word(cell, "no")) return 0;
  return std::nullopt;
}

std::optional<double> parse_date(std::string_view cell) {
  if (cell.size() < 10) return std::nullopt;
  Digits text(cell);
  const auto year = text.number(4, 9999);
  if (!year || !text.take('-')) return std::nullopt;
  const auto month = text.number(2, 12);
  if (!month || !text.take('-')) return std::nullopt;
  const auto day = text.number(2, 31);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  if (text.rest().empty()) return days;
  if (!text.take('T') && !text.take(' ')) return std::nullopt;
  const auto seconds = parse_time(text);
  if (!seconds || !text.rest().empty()) return std::nullopt;
  return days + *seconds / 86400;
}

}  // namespace meanwhile::data
