#include "meanwhile/cli/output/flag_name.h"

#include <algorithm>

#include "meanwhile/base/parameter_name.h"

namespace meanwhile::cli {

std::string flag_name(std::string_view parameter) {
  std::string name = "--" + std::string(parameter);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string with_flags(std::string_view message) {
  return base::with_parameters(message, flag_name);
}

}  // namespace meanwhile::cli
