// One exception for everything that ends a job, with a kind and a chain of context.
//
// A function that knows more than its callee adds it on the way up:
//
//   try { parse(chunk); } catch (Error& e) { e.in("points.csv"); throw; }
//
// so that a message reads from the outside in: "points.csv: line 7, column 3: ...".
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace meanwhile::base {

enum class ErrorKind {
  kUsage,        // an argument or a flag is wrong
  kInput,        // a file the user named is missing, malformed or cut short
  kSystem,       // the disk is full, a call of the system failed
  kFailed,       // the computation cannot go on: diverged, overflowed
  kInterrupted,  // the user asked to stop
};

class Error : public std::exception {
 public:
  template <class... Args>
  explicit Error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args)
      : kind_(kind), what_(fmt::format(format, std::forward<Args>(args)...)) {}

  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return what_.c_str(); }

  // Puts `context` and a colon before the message.
  Error& in(std::string_view context);

 private:
  ErrorKind kind_;
  std::string what_;
};

// An Error of kind kSystem: `what` and the words for `error_number` (an errno).
Error system_error(std::string_view what, int error_number);

}  // namespace meanwhile::base
