#include "meanwhile/data/files/column_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/list_text.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

std::optional<std::int64_t> as_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string known_columns(const std::vector<std::string>& names, std::size_t fields) {
  if (names.empty()) {
    return fmt::format("the file has no header; columns are 0 to {} or -{} to -1", fields - 1,
                       fields);
  }
  constexpr std::size_t kMost = 20;
  return fmt::format("known are {}{}",
                     list_text(std::span(names).first(std::min(kMost, names.size()))),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = list.find(',', begin);
    parts.push_back(list.substr(begin, end - begin));
    if (end == list.npos) return parts;
    begin = end + 1;
  }
}

// One '*' stands for any characters.
bool fits(const std::string& name, const std::string& pattern) {
  const std::size_t star = pattern.find('*');
  return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

bool is_name(const std::string& column) {
  if (column.empty()) return false;
  const auto parts = parts_of(column);
  return !std::all_of(parts.begin(), parts.end(),
                      [](const std::string& part) { return as_integer(part).has_value(); });
}

}  // namespace

std::vector<std::size_t> find_columns(const std::string& parameter, const std::string& given,
                                      const std::vector<std::string>& names, std::size_t fields) {
  const auto count = std::count(names.begin(), names.end(), given);
  if (count > 1) {
    throw Error(ErrorKind::kUsage, "{} {}: {} columns have that name; give a number from 0",
                parameter, given, count);
  }
  if (count == 1) {
    return {static_cast<std::size_t>(std::find(names.begin(), names.end(), given) - names.begin())};
  }
  if (given.find(',') != given.npos) {
    std::vector<std::size_t> found;
    for (const std::string& part : parts_of(given)) {
      const auto more = find_columns(parameter, part, names, fields);
      found.insert(found.end(), more.begin(), more.end());
    }
    return found;
  }
  if (given.find('*') != given.npos) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (fits(names[i], given)) found.push_back(i);
    }
    if (!found.empty()) return found;
  }
  if (const auto number = as_integer(given)) {
    const auto all = static_cast<std::int64_t>(fields);
    if (*number < all && *number >= -all) {
      return {static_cast<std::size_t>(*number < 0 ? *number + all : *number)};
    }
    throw Error(ErrorKind::kUsage, "{} {}: the file has {} columns: 0 to {} or -{} to -1",
                parameter, given, fields, fields - 1, fields);
  }
  throw Error(ErrorKind::kUsage, "{} {}: no such column; {}", parameter, given,
              known_columns(names, fields));
}

std::size_t find_column(const std::string& parameter, const std::string& given,
                        const std::vector<std::string>& names, std::size_t fields) {
  const auto found = find_columns(parameter, given, names, fields);
  if (found.size() == 1) return found.front();
  throw Error(ErrorKind::kUsage, "{} {}: names {} columns, expected one", parameter, given,
              found.size());
}

std::vector<ColumnRole> find_roles(const ReadOptions& options,
                                   const std::vector<std::string>& names, std::size_t fields) {
  std::vector<ColumnRole> roles(fields, ColumnRole::kFeature);
  const auto give = [&](const std::string& parameter, const std::string& given, std::size_t column,
                        ColumnRole role) {
    ColumnRole& old = roles[column];
    if (old != ColumnRole::kFeature && old != role) {
      throw Error(ErrorKind::kUsage, "{} {}: the column has another use already", parameter, given);
    }
    old = role;
  };
  const auto one = [&](const char* name, const std::string& given, ColumnRole role) {
    if (given.empty()) return;
    const std::string parameter = base::parameter(name);
    give(parameter, given, find_column(parameter, given, names, fields), role);
  };
  one("label_column", options.label_column, ColumnRole::kLabel);
  one("weight_column", options.weight_column, ColumnRole::kWeight);
  if (!options.columns.empty()) {
    std::vector<bool> chosen(fields, false);
    for (const std::string& given : options.columns) {
      for (const std::size_t i : find_columns(base::parameter("columns"), given, names, fields)) {
        chosen[i] = true;
      }
    }
    for (std::size_t i = 0; i < fields; ++i) {
      if (roles[i] == ColumnRole::kFeature && !chosen[i]) roles[i] = ColumnRole::kIgnored;
    }
  }
  for (const std::string& given : options.ignore_columns) {
    const std::string parameter = base::parameter("ignore_column");
    for (const std::size_t i : find_columns(parameter, given, names, fields)) {
      give(parameter, given, i, ColumnRole::kIgnored);
    }
  }
  return roles;
}

bool asks_for_names(const ReadOptions& options) {
  const auto any = [](const std::vector<std::string>& columns) {
    return std::any_of(columns.begin(), columns.end(), is_name);
  };
  return is_name(options.text_column) || is_name(options.label_column) ||
         is_name(options.weight_column) || any(options.ignore_columns) || any(options.columns) ||
         any(options.categorical);
}

}  // namespace meanwhile::data
