// JSON as the whole program uses it: keys keep their order.
#pragma once

#include <nlohmann/json.hpp>

namespace meanwhile::base {

using Json = nlohmann::ordered_json;

}  // namespace meanwhile::base

// Instantiated once, in json.cc: every other source would spend a second on it.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
