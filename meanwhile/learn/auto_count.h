// A parameter that is a whole number or left to the learner: flags and JSON say "auto" then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "meanwhile/base/json.h"

namespace meanwhile::learn {

inline constexpr const char* kAuto = "auto";

struct AutoCount {
  AutoCount() = default;  // auto
  AutoCount(std::int64_t given) : number(given) {}
  bool operator==(const AutoCount&) const = default;

  std::optional<std::int64_t> number;
};

inline void to_json(base::Json& json, const AutoCount& count) {
  json = count.number ? base::Json(*count.number) : base::Json(kAuto);
}
// THROWS nlohmann::json::exception for what is neither.
inline void from_json(const base::Json& json, AutoCount& count) {
  const bool is_auto = json.is_string() && json.get_ref<const std::string&>() == kAuto;
  count = is_auto ? AutoCount() : AutoCount(json.get<std::int64_t>());
}

}  // namespace meanwhile::learn
