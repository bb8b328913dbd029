#include "meanwhile/cli/output/show.h"

#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/safe_text.h"
#include "meanwhile/cli/output/flag_name.h"

namespace meanwhile::cli {

using base::Json;

namespace {

constexpr std::size_t kListed = 12;

std::string value_shown(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.9g}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, value.size()); ++i) {
    if (i > 0) text += ' ';
    text += value_shown(value[i]);
  }
  if (value.size() > kListed) text += fmt::format(" ... ({} in all)", value.size());
  return text;
}

void add_lines(const Json& object, std::size_t indent, std::string& text) {
  std::size_t width = 0;
  for (const auto& [name, value] : object.items()) width = std::max(width, name.size());
  for (const auto& [name, value] : object.items()) {
    text += std::string(indent, ' ') + name;
    const bool table = value.is_array() && !value.empty() && value[0].is_object();
    if (value.is_object()) {
      text += '\n';
      add_lines(value, indent + 2, text);
    } else if (table) {
      text += '\n';
      for (const Json& row : value) {
        text += std::string(indent + 2, ' ');
        for (const auto& [key, field] : row.items()) text += key + " " + value_shown(field) + "  ";
        text.erase(text.size() - 2);
        text += '\n';
      }
    } else {
      text += std::string(width - name.size() + 2, ' ') + value_shown(value) + "\n";
    }
  }
}

}  // namespace

std::string shown(const Json& object) {
  std::string text;
  add_lines(object, 0, text);
  return text;
}

std::string bytes_shown(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string money(double price) {
  return price >= 0.095 || price == 0 ? fmt::format("{:.2f}", price) : fmt::format("{:.2g}", price);
}

std::string json_line(const Json& json) {
  return base::printable(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string last_measures(const learn::Entry& entry, const base::Json& record) {
  if (!record.is_object()) return "";
  std::string text;
  const auto add = [&](const std::string& name, const base::Json& value) {
    text += text.empty() ? "" : ", ";
    text +=
        name + " " +
        (value.is_string() ? value.get<std::string>() : fmt::format("{:.6g}", value.get<double>()));
  };
  const base::Json chosen =
      record.value("chosen", base::Json::object());  // outlives the walk over it
  for (const auto& [name, value] : chosen.items()) add(name, value);
  for (const std::string& name : entry.measures_shown) {
    if (record.contains(name) && !record[name].is_null()) add(name, record[name]);
  }
  return text.empty() ? text : text + "\n";
}

void say_notes(Console& console, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    console.say(fmt::format("note: {}\n", with_flags(note)));
  }
}

}  // namespace meanwhile::cli
