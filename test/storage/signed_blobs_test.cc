#include "meanwhile/storage/signed_blobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/storage/local.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::storage {
namespace {

using testing::HasSubstr;

constexpr const char* kSecret = "correct horse battery staple";

Bytes letters(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Signed : public testing::Test {
 protected:
  std::unique_ptr<BlobStore> plain() {
    return std::move(open_local("test", folder_ / "store", meter_).blobs);
  }
  std::unique_ptr<BlobStore> with(const std::string& secret) {
    return signed_blobs(plain(), secret, {"job.json"});
  }

  TemporaryFolder folder_;
  Meter meter_;
};

TEST_F(Signed, WhatAHolderOfTheSecretPutIsRead) {
  with(kSecret)->put("a", letters("text"));
  EXPECT_EQ(with(kSecret)->get("a")->bytes, letters("text"));
  EXPECT_EQ(with(kSecret)->get_at_most("a", 4)->bytes, letters("text"));
  EXPECT_TRUE(is_signed(plain()->get("a")->bytes));
  EXPECT_FALSE(is_signed(letters("text")));
}

TEST_F(Signed, ConditionsAndListingsAreThoseOfTheStore) {
  const auto blobs = with(kSecret);
  EXPECT_TRUE(blobs->put_if_absent("a", letters("one")));
  EXPECT_FALSE(blobs->put_if_absent("a", letters("two")));
  const std::string etag = blobs->get("a")->etag;
  EXPECT_TRUE(blobs->put_if_match("a", letters("three"), etag));
  EXPECT_FALSE(blobs->put_if_match("a", letters("four"), etag));
  EXPECT_EQ(blobs->get("a")->bytes, letters("three"));
  ASSERT_EQ(blobs->list("").size(), 1u);
  EXPECT_EQ(blobs->list("")[0].bytes, 5);
  const std::string name = "a";
  blobs->remove({&name, 1});
  EXPECT_EQ(blobs->get("a"), std::nullopt);
}

TEST_F(Signed, EveryChangedByteIsNoticed) {
  with(kSecret)->put("a", letters("text"));
  const Bytes right = plain()->get("a")->bytes;
  for (std::size_t i = 0; i < right.size(); ++i) {
    Bytes wrong = right;
    wrong[i] ^= std::byte{1};
    plain()->put("a", wrong);
    EXPECT_EQ(with(kSecret)->get("a"), std::nullopt) << "byte " << i;
    wrong = right;
    wrong.resize(i);
    plain()->put("a", wrong);
    EXPECT_EQ(with(kSecret)->get("a"), std::nullopt) << "cut at byte " << i;
  }
}

TEST_F(Signed, ABlobUnderAnotherNameIsNotBelieved) {
  with(kSecret)->put("a", letters("text"));
  plain()->put("b", plain()->get("a")->bytes);
  EXPECT_EQ(with(kSecret)->get("b"), std::nullopt);
}

TEST_F(Signed, ARecordThatMustBeSignedIsRefusedInWords) {
  plain()->put("job.json", letters("{}"));
  EXPECT_THAT(input_error_of([&] { with(kSecret)->get("job.json"); }),
              HasSubstr("job.json: is not signed"));
  with("another secret, as long")->put("job.json", letters("{}"));
  EXPECT_THAT(input_error_of([&] { with(kSecret)->get("job.json"); }),
              HasSubstr("job.json: is signed with another secret"));
  EXPECT_EQ(with(kSecret)->get("other.json"), std::nullopt);
}

TEST_F(Signed, AShortSecretIsRefused) {
  EXPECT_EQ(usage_error_of([&] { with("too short"); }),
            "the secret has 9 bytes, expected at least 16");
}

}  // namespace
}  // namespace meanwhile::storage
