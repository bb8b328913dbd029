#include "meanwhile/learn/schema.h"

#include <algorithm>

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

const Parameter* Schema::find(std::string_view name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const Parameter& p) { return p.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

Json Schema::defaults() const {
  Json json = Json::object();
  for (const Parameter& parameter : parameters_) json[parameter.name] = parameter.preset;
  return json;
}

Parameter& Schema::at(std::string_view name) {
  for (Parameter& parameter : parameters_) {
    if (parameter.name == name) return parameter;
  }
  throw base::Error(base::ErrorKind::kUsage, "the schema has no parameter '{}'", name);
}

Schema& Schema::fix(const std::vector<std::string>& names) {
  for (const std::string& name : names) at(name).fixed = true;
  return *this;
}

Schema& Schema::ends_run(const std::vector<std::string>& names) {
  for (const std::string& name : names) at(name).only_ends_run = true;
  return *this;
}

Schema& Schema::least(std::int64_t value, const std::vector<std::string>& names) {
  for (const std::string& name : names) at(name).least = value;
  return *this;
}

Schema& Schema::rare(const std::vector<std::string>& names) {
  for (const std::string& name : names) at(name).rare = true;
  return *this;
}

Schema& Schema::drop(const std::vector<std::string>& names) {
  std::erase_if(parameters_, [&](const Parameter& parameter) {
    return std::find(names.begin(), names.end(), parameter.name) != names.end();
  });
  return *this;
}

Parameter parameter_of(const char* name, const char* help, Json preset) {
  const ParameterType type = preset.is_boolean()          ? ParameterType::kBoolean
                             : preset.is_number_integer() ? ParameterType::kWhole
                             : preset.is_number()         ? ParameterType::kReal
                                                          : ParameterType::kText;
  return {name, help, type, std::move(preset)};
}

}  // namespace meanwhile::learn
