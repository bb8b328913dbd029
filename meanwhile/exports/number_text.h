// Numbers as program text.
#pragma once

#include <fmt/format.h>

#include <string>

namespace meanwhile::exports {

// The shortest decimal that is this double, with an exponent, so that no language takes it for an
// integer or a decimal of fixed point: "0.1e0", "-3e0", "1e-05".
inline std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find('e') == std::string::npos) text += "e0";
  return text;
}

}  // namespace meanwhile::exports
