// Parameters that are described once, by a describe(parameters, visit) beside their type, as JSON
// and back. A choice is its name in JSON; an optional parameter that is not set is absent.
#pragma once

#include <string>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/choice.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

template <class T>
void put_field(Json& json, const char* name, const T& value) {
  if constexpr (kIsOptional<T>) {
    if (value) put_field(json, name, *value);
  } else if constexpr (kIsOpenChoice<T>) {
    json[name] = value.text();
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(Choice<T>, "an enum that is a parameter has a table of names");
    json[name] = to_string(value);
  } else {
    json[name] = value;
  }
}

// Leaves `value` as it is where the JSON has no such field. THROWS Error(kUsage) for a name that is
// none of the choices, nlohmann::json::exception for a value of the wrong type.
template <class T>
void get_field(const Json& json, const char* name, T& value) {
  if (!json.contains(name)) return;
  if constexpr (kIsOptional<T>) {
    typename T::value_type known{};
    get_field(json, name, known);
    value = known;
  } else if constexpr (kIsOpenChoice<T>) {
    value = T(json.at(name).get<std::string>());
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(Choice<T>, "an enum that is a parameter has a table of names");
    value = parse_choice<T>(name, json.at(name).get<std::string>());
  } else {
    json.at(name).get_to(value);
  }
}

template <class Parameters>
Json described_json(const Parameters& parameters) {
  Json json;
  describe(parameters,
           [&](const char* name, const auto& value, const char*) { put_field(json, name, value); });
  return json;
}

// Fields that the JSON lacks keep their defaults. THROWS Error(kInput) for a value of the wrong
// type, `of` naming the owner; Error(kUsage) for an unknown choice.
template <class Parameters>
Parameters from_described(const Json& json, std::string_view of) {
  Parameters parameters;
  try {
    describe(parameters,
             [&](const char* name, auto& value, const char*) { get_field(json, name, value); });
  } catch (const nlohmann::json::exception& e) {
    throw base::Error(base::ErrorKind::kInput, "parameters of {}: {}", of, e.what());
  }
  return parameters;
}

}  // namespace meanwhile::learn
