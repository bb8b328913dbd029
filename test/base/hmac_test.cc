#include "meanwhile/base/hmac.h"

#include <gtest/gtest.h>

#include <vector>

namespace meanwhile::base {
namespace {

std::string hmac_of(std::string_view key, const std::vector<std::string_view>& texts) {
  std::vector<std::span<const std::byte>> parts;
  for (const std::string_view text : texts) parts.push_back(std::as_bytes(std::span(text)));
  return hmac_sha256(key, parts);
}

// RFC 4231, test cases 1, 2 and 6.
TEST(Hmac, HasThePublishedValues) {
  EXPECT_EQ(hmac_of(std::string(20, '\x0b'), {"Hi There"}),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_of("Jefe", {"what do ya want ", "for nothing?"}),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hmac_of(std::string(131, '\xaa'), {"Test Using Larger Than Block-Size Key - Hash Key First"}),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, EqualTextIsEqual) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abcd"));
}

}  // namespace
}  // namespace meanwhile::base
