#include "meanwhile/cli/flags/learner_flags.h"

#include <fmt/format.h>

#include <limits>

#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/flag_name.h"

namespace meanwhile::cli {

using learn::Parameter;
using learn::ParameterType;

namespace {

// The default as the help shows it.
std::string preset_text(const base::Json& preset) {
  if (preset.is_string()) return preset.get<std::string>();
  if (preset.is_number_float()) return fmt::format("{}", preset.get<double>());
  return preset.dump();
}

}  // namespace

ParameterFlags::ParameterFlags(const FlagTable& table, const learn::Entry& entry) {
  for (const Parameter& parameter : entry.schema.parameters()) {
    add(table, slots_.emplace_back(Slot{&parameter, {}, {}}));
    slots_.back().flag.group(entry.name);
  }
}

void ParameterFlags::add(const FlagTable& table, Slot& slot) {
  const Parameter& parameter = *slot.parameter;
  const std::string name = flag_name(parameter.name);
  if (parameter.type == ParameterType::kBoolean) {
    slot.on = parameter.preset.get<bool>();
    slot.flag = table.either(name, slot.on, parameter.help).shown_default(slot.on ? "on" : "off");
    return;
  }
  const auto parse = [name, &slot, &parameter](const std::string& text) {
    switch (parameter.type) {
      case ParameterType::kWhole:
        if (parameter.automatic && text == learn::kAuto) {
          slot.value = text;
          break;
        }
        slot.value =
            parse_whole(name, text, parameter.least, std::numeric_limits<std::int64_t>::max());
        break;
      case ParameterType::kReal:
        slot.value = parse_real(name, text, static_cast<double>(parameter.least));
        break;
      case ParameterType::kChoice:
        slot.value = parse_choice(name, text, parameter.choices);
        break;
      default:
        slot.value = text;
    }
  };
  slot.flag =
      table.parsed_by(name, parse, parameter.help).shown_default(preset_text(parameter.preset));
  switch (parameter.type) {
    case ParameterType::kWhole:
      parameter.automatic ? slot.flag.choices({learn::kAuto}, "N") : slot.flag.type("N");
      break;
    case ParameterType::kReal:
      slot.flag.type("X");
      break;
    case ParameterType::kChoice:
      slot.flag.choices(parameter.choices);
      break;
    default:
      if (!parameter.choices.empty()) slot.flag.choices(parameter.choices, parameter.other_text);
  }
}

base::Json ParameterFlags::given() const {
  base::Json given = base::Json::object();
  for (const Slot& slot : slots_) {
    if (!slot.flag.given()) continue;
    const bool boolean = slot.parameter->type == ParameterType::kBoolean;
    given[slot.parameter->name] = boolean ? base::Json(slot.on) : slot.value;
  }
  return given;
}

}  // namespace meanwhile::cli
