// The version written into models and run.json.
#pragma once

namespace meanwhile::base {

inline constexpr char kVersion[] = "0.2.0";

}  // namespace meanwhile::base
