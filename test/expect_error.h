// The error that a function throws, as a value to compare.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meanwhile/base/error.h"

namespace meanwhile {

// The message of the Error of this kind that `call` must throw; fails the test if it does not.
template <class Call>
std::string error_of(base::ErrorKind kind, Call&& call) {
  try {
    call();
  } catch (const base::Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

template <class Call>
std::string input_error_of(Call&& call) {
  return error_of(base::ErrorKind::kInput, call);
}

template <class Call>
std::string usage_error_of(Call&& call) {
  return error_of(base::ErrorKind::kUsage, call);
}

}  // namespace meanwhile
