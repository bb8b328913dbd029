#include "meanwhile/base/sha256.h"

#include <gtest/gtest.h>

namespace meanwhile::base {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256, GivesThePublishedDigests) {
  Sha256 abc;
  abc.add("abc");
  EXPECT_EQ(abc.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, DoesNotSeeWhereTheTextWasCut) {
  Sha256 whole, parts;
  whole.add("abcdef");
  parts.add("ab");
  parts.add("");
  parts.add("cdef");
  EXPECT_EQ(whole.hex(), parts.hex());
}

TEST(Sha256, BeginsAnewAfterADigest) {
  Sha256 hash;
  hash.add("something else");
  hash.digest();
  hash.add("abc");
  EXPECT_EQ(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace meanwhile::base
