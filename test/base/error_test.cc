#include "meanwhile/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace meanwhile::base {
namespace {

TEST(Error, GainsContextOnItsWayUp) {
  try {
    try {
      throw Error(ErrorKind::kInput, "'{}' is no number", "x");
    } catch (Error& e) {
      e.in("line 7, column 3").in("points.csv");
      throw;
    }
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "points.csv: line 7, column 3: 'x' is no number");
    EXPECT_EQ(e.kind(), ErrorKind::kInput);
  }
}

TEST(Error, TextWithBracesIsNotAFormat) {
  Error e(ErrorKind::kUsage, "{}", "{}");
  EXPECT_STREQ(e.in("{0}").what(), "{0}: {}");
}

TEST(SystemError, SpeaksTheWordsOfErrno) {
  const Error e = system_error("writing a", ENOSPC);
  EXPECT_STREQ(e.what(), "writing a: No space left on device");
  EXPECT_EQ(e.kind(), ErrorKind::kSystem);
}

}  // namespace
}  // namespace meanwhile::base
