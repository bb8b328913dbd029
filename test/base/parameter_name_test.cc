#include "meanwhile/base/parameter_name.h"

#include <gtest/gtest.h>

namespace meanwhile::base {
namespace {

std::string in_capitals(std::string_view text) {
  return with_parameters(text, [](std::string_view name) { return "<" + std::string(name) + ">"; });
}

TEST(ParameterName, IsSpelledByWhoeverShowsTheMessage) {
  const std::string message = "give " + parameter("n_features") + " or " + parameter("dtype");
  EXPECT_EQ(message, "give `n_features` or `dtype`");
  EXPECT_EQ(in_capitals(message), "give <n_features> or <dtype>");
}

TEST(ParameterName, LeavesOtherQuotesAlone) {
  for (const char* text : {"", "plain", "`", "a `b", "``", "`two words`", "`My File`", "`1st`"}) {
    EXPECT_EQ(in_capitals(text), text);
  }
}

TEST(ParameterName, IsFoundBehindALoneQuote) {
  EXPECT_EQ(in_capitals("o`clock: `seed`"), "o`clock: <seed>");
}

}  // namespace
}  // namespace meanwhile::base
