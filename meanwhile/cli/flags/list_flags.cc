#include "meanwhile/cli/flags/list_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/flag_name.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using learn::Parameter;
using learn::ParameterType;

namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostValues = 10'000;

bool takes_several(const Parameter& parameter) {
  return parameter.type == ParameterType::kWhole || parameter.type == ParameterType::kReal ||
         parameter.type == ParameterType::kChoice;
}

Json parse_one(const std::string& flag, const Parameter& parameter, const std::string& text) {
  switch (parameter.type) {
    case ParameterType::kWhole:
      if (parameter.automatic && text == learn::kAuto) return text;
      return parse_whole(flag, text, parameter.least, kLargest);
    case ParameterType::kReal:
      return parse_real(flag, text, static_cast<double>(parameter.least));
    case ParameterType::kChoice:
      return parse_choice(flag, text, parameter.choices);
    default:
      return text;
  }
}

struct RangeText {
  std::string first, last, step;  // step: empty where there is none
};

[[noreturn]] void refuse_range(const std::string& flag, const std::string& text,
                               std::string_view why) {
  throw Error(ErrorKind::kUsage, "{}: the range {} {}", flag, text, why);
}

void put_whole_range(const std::string& flag, const Parameter& parameter, const std::string& text,
                     const RangeText& range, std::vector<Json>& values) {
  const std::int64_t first = parse_whole(flag, range.first, parameter.least, kLargest);
  const std::int64_t last = parse_whole(flag, range.last, parameter.least, kLargest);
  const std::int64_t step = range.step.empty() ? 1 : parse_whole(flag, range.step, 1, kLargest / 2);
  if (last < first) refuse_range(flag, text, "ends before it begins");
  if (static_cast<std::size_t>((last - first) / step) >= kMostValues) {
    refuse_range(flag, text, fmt::format("has more than {} values", kMostValues));
  }
  for (std::int64_t at = 0; at <= (last - first) / step; ++at) {
    values.emplace_back(first + at * step);
  }
}

void put_real_range(const std::string& flag, const std::string& text, const RangeText& range,
                    std::vector<Json>& values) {
  const double first = parse_real(flag, range.first, 0), last = parse_real(flag, range.last, 0);
  const double factor = range.step.empty() ? 10 : parse_real(flag, range.step, 0);
  if (!(first > 0)) refuse_range(flag, text, "grows by a factor, so it must begin above 0");
  if (last < first) refuse_range(flag, text, "ends before it begins");
  if (!(factor > 1)) refuse_range(flag, text, "needs a factor above 1");
  const double steps = std::floor(std::log(last / first) / std::log(factor) + 1e-9);
  if (steps >= static_cast<double>(kMostValues)) {
    refuse_range(flag, text, fmt::format("has more than {} values", kMostValues));
  }
  for (int at = 0; at <= static_cast<int>(steps); ++at) {
    // Through text, so that the third of 1e-6..1e-2 is 1e-4 and not its neighbour.
    const std::string digits = fmt::format("{:.12g}", first * std::pow(factor, at));
    values.emplace_back(parse_real(flag, digits, 0));
  }
}

}  // namespace

std::vector<Json> parse_list(const std::string& flag, const Parameter& parameter,
                             const std::string& text) {
  std::vector<Json> values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    at = end + 1;
    const std::size_t dots = item.find("..");
    const bool whole = parameter.type == ParameterType::kWhole;
    if (dots == item.npos || (!whole && parameter.type != ParameterType::kReal)) {
      values.push_back(parse_one(flag, parameter, item));
      continue;
    }
    RangeText range{item.substr(0, dots), item.substr(dots + 2), {}};
    if (const std::size_t colon = range.last.find(':'); colon != item.npos) {
      range.step = range.last.substr(colon + 1);
      range.last.resize(colon);
    }
    whole ? put_whole_range(flag, parameter, item, range, values)
          : put_real_range(flag, item, range, values);
  }
  std::vector<Json> once;
  for (Json& value : values) {
    if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(std::move(value));
  }
  return once;
}

ListFlags::ListFlags(const FlagTable& table, const learn::Entry& entry) {
  for (const Parameter& parameter : entry.schema.parameters()) {
    add(table, slots_.emplace_back(Slot{&parameter, {}, {}}));
    slots_.back().flag.group(entry.name);
  }
}

void ListFlags::add(const FlagTable& table, Slot& slot) {
  const Parameter& parameter = *slot.parameter;
  const std::string name = flag_name(parameter.name);
  if (parameter.type == ParameterType::kBoolean) {
    slot.on = parameter.preset.get<bool>();
    slot.flag = table.either(name, slot.on, parameter.help).shown_default(slot.on ? "on" : "off");
    return;
  }
  const auto parse = [name, &slot, &parameter](const std::string& text) {
    slot.values = takes_several(parameter) ? parse_list(name, parameter, text)
                                           : std::vector<Json>{parse_one(name, parameter, text)};
  };
  slot.flag = table.parsed_by(name, parse, parameter.help)
                  .shown_default(parameter.preset.is_string() ? parameter.preset.get<std::string>()
                                                              : parameter.preset.dump());
  if (parameter.type == ParameterType::kWhole) {
    slot.flag.type("N,...");
  } else if (parameter.type == ParameterType::kReal) {
    slot.flag.type("X,...");
  } else if (!parameter.choices.empty()) {
    slot.flag.choices(parameter.choices, parameter.other_text);
  }
}

Json ListFlags::single() const {
  Json given = Json::object();
  for (const Slot& slot : slots_) {
    if (!slot.flag.given() || slot.values.size() > 1) continue;
    const bool boolean = slot.parameter->type == ParameterType::kBoolean;
    given[slot.parameter->name] = boolean ? Json(slot.on) : slot.values.front();
  }
  return given;
}

std::vector<tune::Axis> ListFlags::axes() const {
  std::vector<tune::Axis> axes;
  for (const Slot& slot : slots_) {
    if (slot.values.size() > 1) axes.push_back({slot.parameter->name, slot.values});
  }
  return axes;
}

}  // namespace meanwhile::cli
