#include "meanwhile/learn/choice.h"

#include <fmt/ranges.h>

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

void refuse_choice(std::string_view parameter, std::string_view text,
                   const std::vector<std::string>& allowed) {
  throw base::Error(base::ErrorKind::kUsage, "{} is '{}'; it must be one of: {}", parameter, text,
                    fmt::join(allowed, ", "));
}

}  // namespace meanwhile::learn
