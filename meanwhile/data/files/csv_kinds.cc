#include "meanwhile/data/files/csv_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/table/cell.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

namespace {

std::optional<double> as_number(std::string_view cell) {
  double value = 0;
  const char* const end = cell.data() + cell.size();
  if (cell.empty() || detail::from_chars(cell.data(), end, value) != end) return std::nullopt;
  return value;
}

// "2,5"
bool has_decimal_comma(std::string_view cell) {
  const std::size_t comma = cell.find(',');
  return comma != cell.npos && as_number(cell.substr(0, comma)) &&
         cell.find_first_not_of("0123456789", comma + 1) == cell.npos && comma + 1 < cell.size();
}

bool is_word(const std::string& cell) { return !is_missing(cell) && !as_number(cell); }

// A word that is no truth value and no date either: it could be a name.
bool could_be_name(const std::string& cell) {
  return is_word(cell) && !parse_boolean(cell) && !parse_date(cell);
}

}  // namespace

void CellCounts::add(const std::string& cell) {
  if (is_missing(cell)) {
    ++missing;
    return;
  }
  if (const auto number = as_number(cell)) {
    add_number(*number);
    return;
  }
  if (parse_boolean(cell)) {
    ++booleans;
  } else if (parse_date(cell)) {
    ++dates;
  } else {
    ++words;
    decimal_commas = decimal_commas && has_decimal_comma(cell);
  }
}

void CellCounts::add_number(double number) {
  if (number != static_cast<double>(numbers)) counts_up = false;
  low = numbers == 0 ? number : std::min(low, number);
  high = numbers == 0 ? number : std::max(high, number);
  ++numbers;
  if (!std::isfinite(number)) return;
  changed = std::max(changed, std::abs(number - static_cast<double>(static_cast<float>(number))));
}

ColumnKind kind_of(const CellCounts& cells) {
  const std::int64_t others = cells.booleans + cells.dates + cells.words;
  if (others == 0 || cells.numbers >= others) return ColumnKind::kNumber;
  if (cells.numbers > 0 || cells.words > 0) return ColumnKind::kCategory;
  if (cells.dates == 0) return ColumnKind::kBoolean;
  return cells.booleans == 0 ? ColumnKind::kDate : ColumnKind::kCategory;
}

CsvLook look_at_csv(std::string_view text, bool whole, char delimiter) {
  CsvLook look;
  auto record = next_record(text, 0, true);
  look.first = split_record(text, *record, delimiter);
  look.columns.resize(look.first.size());
  look.recurs.resize(look.first.size());
  while (look.records < kLookedAtRecords) {
    // The last record may go on behind the text; the one before it must be known in any case.
    record = next_record(text, record->end, whole || look.records == 0);
    if (!record) break;
    std::vector<std::string> cells;
    try {
      cells = split_record(text, *record, delimiter);
    } catch (const BadText&) {
      break;  // the parser will report it
    }
    ++look.records;
    for (std::size_t i = 0; i < std::min(cells.size(), look.columns.size()); ++i) {
      look.columns[i].add(cells[i]);
      if (cells[i] == look.first[i]) look.recurs[i] = true;
    }
  }
  return look;
}

bool looks_like_header(const CsvLook& look, const std::vector<bool>& ignored) {
  bool any_name = false, any_value = false, all_new = true;
  for (std::size_t i = 0; i < look.first.size(); ++i) {
    if (ignored[i]) continue;
    const CellCounts& below = look.columns[i];
    const bool name = could_be_name(look.first[i]);
    any_name |= name;
    if (look.first[i].empty()) continue;
    const bool values = below.values() > 0 && kind_of(below) != ColumnKind::kCategory;
    if (name && values && below.words == 0) return true;
    if (!name && values && !is_missing(look.first[i])) any_value = true;
    all_new = all_new && name && !look.recurs[i];
  }
  if (look.records == 0) return any_name;
  return !any_value && any_name && all_new;
}

char find_delimiter(std::string_view text, bool whole) {
  constexpr std::array<char, 4> kDelimiters = {',', '\t', ';', ' '};
  constexpr int kRecords = 20;
  // How often each occurs in the first record, and whether in as many in all others.
  std::array<std::int64_t, 4> first{};
  std::array<bool, 4> even{true, true, true, true};
  auto record = next_record(text, 0, true);
  for (int n = 0; n < kRecords && record; ++n) {
    std::array<std::int64_t, 4> count{};
    bool open = false;
    for (const char c : text.substr(record->begin, record->end - record->begin)) {
      open ^= c == '"';
      if (open) continue;
      for (std::size_t d = 0; d < kDelimiters.size(); ++d) count[d] += c == kDelimiters[d];
    }
    for (std::size_t d = 0; d < kDelimiters.size(); ++d) {
      if (n == 0) first[d] = count[d];
      even[d] = even[d] && count[d] == first[d];
    }
    record = next_record(text, record->end, whole);
  }
  // Semicolons as many in every record are no accident: the commas between them are decimal ones.
  if (first[2] > 0 && even[2] && first[2] >= first[0]) return ';';
  for (std::size_t d = 0; d < kDelimiters.size(); ++d) {
    if (first[d] > 0) return kDelimiters[d];
  }
  return ',';
}

}  // namespace meanwhile::data
