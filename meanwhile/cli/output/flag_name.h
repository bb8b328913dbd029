// Parameters in the spelling of the command line.
#pragma once

#include <string>
#include <string_view>

namespace meanwhile::cli {

// "n_clusters" is "--n-clusters".
std::string flag_name(std::string_view parameter);
// A message of the library with its parameters (base/parameter_name.h) spelled as flags.
std::string with_flags(std::string_view message);

}  // namespace meanwhile::cli
