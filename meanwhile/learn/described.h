// Parameters that are described once, by a describe(parameters, visit) beside their type, as JSON
// and back.
#pragma once

#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

template <class Parameters>
Json described_json(const Parameters& parameters) {
  Json json;
  describe(parameters,
           [&](const char* name, const auto& value, const char*) { json[name] = value; });
  return json;
}

// What the JSON does not say stays as it is by default. THROWS Error(kInput), `of` naming whose
// they are.
template <class Parameters>
Parameters from_described(const Json& json, std::string_view of) {
  Parameters parameters;
  try {
    describe(parameters, [&](const char* name, auto& value, const char*) {
      if (json.contains(name)) json.at(name).get_to(value);
    });
  } catch (const nlohmann::json::exception& e) {
    throw base::Error(base::ErrorKind::kInput, "parameters of {}: {}", of, e.what());
  }
  return parameters;
}

}  // namespace meanwhile::learn
