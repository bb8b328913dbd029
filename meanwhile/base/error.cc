#include "meanwhile/base/error.h"

#include <system_error>

namespace meanwhile::base {

Error& Error::in(std::string_view context) {
  what_ = fmt::format("{}: {}", context, what_);
  return *this;
}

Error system_error(std::string_view what, int error_number) {
  return Error(ErrorKind::kSystem, "{}: {}", what, std::generic_category().message(error_number));
}

}  // namespace meanwhile::base
