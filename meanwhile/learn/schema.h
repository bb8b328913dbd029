// The parameters of a learner as data: the command line makes its flags from a schema, Python its
// keywords, and settle() (settle.h) checks against it what was given. A schema is made from the
// learner's describe(parameters, visit), so that a parameter is described once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/learn/auto_count.h"
#include "meanwhile/learn/described.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

enum class ParameterType { kWhole, kReal, kBoolean, kChoice, kText };

struct Parameter {
  std::string name, help;
  ParameterType type = ParameterType::kText;
  Json preset;  // the default
  // The values of a kChoice. A kText that has some takes these or other text.
  std::vector<std::string> choices = {};
  std::string other_text = {};  // what the help calls that other text, such as FILE
  std::int64_t least = 0;       // of a kWhole or kReal
  bool automatic = false;       // a kWhole that takes the word "auto", too
  bool fixed = false;           // cannot change once there is a state
  bool only_ends_run = false;   // says when a run ends, and changes nothing before (max_iter)
  bool rare = false;            // few users need it: the short help leaves it out
};

class Schema {
 public:
  Schema() = default;
  explicit Schema(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Null when there is none of that name.
  const Parameter* find(std::string_view name) const;
  Json defaults() const;

  // REQUIRES: there is a parameter of that name.
  Parameter& at(std::string_view name);
  // For the entry of a learner. REQUIRES: there are parameters of these names.
  Schema& fix(const std::vector<std::string>& names);
  Schema& ends_run(const std::vector<std::string>& names);
  Schema& least(std::int64_t value, const std::vector<std::string>& names);
  Schema& rare(const std::vector<std::string>& names);
  // Removes parameters that the learner has no use for; they keep their defaults.
  Schema& drop(const std::vector<std::string>& names);

 private:
  std::vector<Parameter> parameters_;
};

// The parameter of this name, whose type is that of its default.
Parameter parameter_of(const char* name, const char* help, Json preset);

// The names of a field that is a choice; none for other fields.
template <class T>
std::vector<std::string> choices_of(const T& /*field*/) {
  if constexpr (kIsOptional<T>) {
    return choices_of(typename T::value_type{});
  } else if constexpr (kIsOpenChoice<T>) {
    return learn::choices<typename T::Enum>();
  } else if constexpr (std::is_enum_v<T>) {
    return learn::choices<T>();
  } else {
    return {};
  }
}

// Names, helps, types, choices and defaults; whole and real numbers are 0 or more.
template <class Parameters>
Schema schema_of(const Parameters& defaults) {
  const Json presets = described_json(defaults);
  std::vector<Parameter> parameters;
  describe(defaults, [&](const char* name, const auto& field, const char* help) {
    using Field = std::decay_t<decltype(field)>;
    Parameter& parameter = parameters.emplace_back(parameter_of(name, help, presets.at(name)));
    parameter.choices = choices_of(field);
    if (std::is_same_v<Field, AutoCount>) {
      parameter.type = ParameterType::kWhole;
      parameter.automatic = true;
    }
    if (kIsOpenChoice<Field>) parameter.other_text = "TEXT";
    if (!parameter.choices.empty() && !kIsOpenChoice<Field>) {
      parameter.type = ParameterType::kChoice;
    }
  });
  return Schema(std::move(parameters));
}

}  // namespace meanwhile::learn
