#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "meanwhile/storage/azure/sign.h"

namespace meanwhile::storage {
namespace {

constexpr std::string_view kKey = "0123456789abcdef";

TEST(AzureSign, Base64GoesAndComes) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : pairs) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_base64(base64(all)), all);
  for (const char* wrong : {"Z", "Zg=", "Zg===", "Zm9v=", "Z*==", "Zg==Zg==", "Zm9v Zm9", "===="}) {
    EXPECT_FALSE(from_base64(wrong)) << wrong;
  }
}

TEST(AzureSign, PercentGoesAndComes) {
  EXPECT_EQ(percent_encoded("a-Z_0.~/ä+="), "a-Z_0.~%2F%C3%A4%2B%3D");
  EXPECT_EQ(percent_encoded("a/b c", "/"), "a/b%20c");
  EXPECT_EQ(percent_decoded("a%2Fb%2"), "a/b%2");
  EXPECT_EQ(percent_decoded("100%zz%41"), "100%zzA");
}

TEST(AzureSign, DatesGoAndCome) {
  EXPECT_EQ(http_date(1709622489), "Tue, 05 Mar 2024 07:08:09 GMT");
  EXPECT_EQ(from_http_date("Tue, 05 Mar 2024 07:08:09 GMT"), 1709622489);
  EXPECT_EQ(from_iso_date("2024-03-05T07:08:09Z"), 1709622489);
  EXPECT_EQ(from_iso_date("2024-03-05T07:08:09.1234567Z"), 1709622489);
  EXPECT_EQ(from_iso_date("2024-03-05T07:08Z"), 1709622480);
  EXPECT_EQ(from_iso_date("2024-03-05"), 1709596800);
  for (const char* wrong : {"", "yesterday", "Tue, 05 Foo 2024 07:08:09 GMT", "2024-13-05"}) {
    EXPECT_FALSE(from_http_date(wrong)) << wrong;
    EXPECT_FALSE(from_iso_date(wrong)) << wrong;
  }
}

// The text to sign was written by hand after the specification, and signed with another program.
TEST(AzureSign, SharedKeySignsWhatTheSpecificationSays) {
  const Signable request{.method = "PUT",
                         .path = "/acc/box/a%20b",
                         .query = {{"timeout", "30"}, {"comp", "block"}},
                         .headers = {{"x-ms-version", "2020-10-02"},
                                     {"x-ms-blob-type", "BlockBlob"},
                                     {"content-type", "text/plain"},
                                     {"if-match", "\"0x8D\""},
                                     {"x-ms-date", "Tue, 05 Mar 2024 07:08:09 GMT"}},
                         .content_length = 11};
  EXPECT_EQ(string_to_sign(request, "acc"),
            "PUT\n\n\n11\n\ntext/plain\n\n\n\"0x8D\"\n\n\n\n"
            "x-ms-blob-type:BlockBlob\n"
            "x-ms-date:Tue, 05 Mar 2024 07:08:09 GMT\n"
            "x-ms-version:2020-10-02\n"
            "/acc/acc/box/a%20b\ncomp:block\ntimeout:30");
  EXPECT_EQ(shared_key(request, "acc", kKey),
            "SharedKey acc:ufMLfUhjM5Uwe9N4t0iJDBnU5a3F+bNpuKC8XEO4zeE=");
}

TEST(AzureSign, LengthZeroIsNotSigned) {
  EXPECT_EQ(string_to_sign({.method = "GET", .path = "/box", .query = {}, .headers = {}}, "acc"),
            "GET\n\n\n\n\n\n\n\n\n\n\n\n/acc/box");
}

TEST(AzureSign, AccountSasSignsWhatTheSpecificationSays) {
  const AccountSas sas{.permissions = "rl",
                       .services = "b",
                       .resource_types = "co",
                       .start = "",
                       .expiry = "2030-01-01T00:00:00Z",
                       .protocol = "https"};
  const std::string token = account_sas(sas, "acc", kKey);
  EXPECT_EQ(token,
            "sv=2020-10-02&ss=b&srt=co&sp=rl&se=2030-01-01T00%3A00%3A00Z&spr=https"
            "&sig=dZ1vLH6dqsWSjaG58MiLRTTe4%2BKXDmO5L5%2FMT4U3Eig%3D");
  EXPECT_EQ(parameter_of(token, "sig"), "dZ1vLH6dqsWSjaG58MiLRTTe4+KXDmO5L5/MT4U3Eig=");
  EXPECT_EQ(parameter_of(token, "se"), "2030-01-01T00:00:00Z");
  EXPECT_EQ(parameter_of(token, "s"), "");
}

}  // namespace
}  // namespace meanwhile::storage
