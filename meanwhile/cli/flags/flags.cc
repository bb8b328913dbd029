#include "meanwhile/cli/flags/flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/nearest.h"

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
    throw Error(
        ErrorKind::kUsage,
        "{}: expected a number of bytes with K, M, G or T behind it, such as 500M, got '{}'", name,
        text);
  }
  return static_cast<std::int64_t>(value);
}

CLI::Option* add_real(CLI::App& app, const std::string& name, double& value,
                      const std::string& help, double least) {
  const auto set = [name, &value, least](const std::string& text) {
    value = parse_real(name, text, least);
  };
  return app.add_option_function<std::string>(name, set, help)
      ->type_name("X")
      ->default_str(fmt::format("{}", value));
}

CLI::Option* add_bytes(CLI::App& app, const std::string& name, std::int64_t& value,
                       const std::string& help) {
  const auto set = [name, &value](const std::string& text) { value = parse_bytes(name, text); };
  return app.add_option_function<std::string>(name, set, help)->type_name("BYTES");
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help) {
  return add_choice(
      app, name, [&value](const std::string& text) { value = text; }, value, choices, help);
}

CLI::Option* add_choice(CLI::App& app, const std::string& name,
                        const std::function<void(const std::string&)>& set,
                        const std::string& otherwise, const std::vector<std::string>& choices,
                        const std::string& help) {
  const auto take = [name, set, choices](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      throw Error(ErrorKind::kUsage, "{}: unknown value '{}'; known are {}{}", name, text,
                  listed(choices), did_you_mean(text, choices));
    }
    set(text);
  };
  CLI::Option* option = app.add_option_function<std::string>(name, take, help);
  if (!otherwise.empty()) option->default_str(otherwise);
  return option->type_name(choices_type(choices));
}

std::string choices_type(const std::vector<std::string>& choices) {
  return fmt::format("{{{}}}", fmt::join(choices, ","));
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::string text = option.get_type_name();
  const std::size_t open = text.find('{'), close = text.find('}');
  if (open == text.npos || close == text.npos) return {};
  text = text.substr(open + 1, close - open - 1);
  std::vector<std::string> choices;
  for (std::size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    choices.push_back(text.substr(begin, end - begin));
  }
  return choices;
}

std::string flag_name(const std::string& parameter) {
  std::string name = "--" + parameter;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
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
