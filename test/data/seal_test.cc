#include "meanwhile/data/seal.h"

#include <gtest/gtest.h>

#include "meanwhile/base/error.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::data {
namespace {

std::vector<std::byte> some_file() {
  const std::vector<double> values = {1, 2.5, -3};
  const std::vector<std::int32_t> numbers = {7, 8};
  return safetensors_bytes(
      {{"x", tensor_of<double>(values, {3})}, {"seal", tensor_of<std::int32_t>(numbers, {2})}},
      {{"kind", "model"}, {"about", R"({"seal":"no"})"}, {"version", "0.2.0"}});
}

// The seal that a reader finds in the bytes: a broken header counts as a broken seal.
Seal seal_of(const std::vector<std::byte>& bytes) {
  try {
    return SafetensorsFile(bytes, "a").seal();
  } catch (const base::Error&) {
    return Seal::kBroken;
  }
}

TEST(Seal, IsWholeAfterWriting) { EXPECT_EQ(seal_of(some_file()), Seal::kWhole); }

TEST(Seal, IsNotWholeWhenAnyBitIsWrong) {
  const std::vector<std::byte> whole = some_file();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> damaged = whole;
      damaged[i] ^= static_cast<std::byte>(1 << bit);
      EXPECT_NE(seal_of(damaged), Seal::kWhole) << "byte " << i << ", bit " << bit;
    }
  }
}

TEST(Seal, IsNotWholeWhenAnyByteIsMissing) {
  const std::vector<std::byte> whole = some_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(seal_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}),
              Seal::kWhole);
  }
}

TEST(Seal, OfATextIsFoundWithAndWithoutABlank) {
  for (const char* between : {"", " "}) {
    std::string text = fmt::format("{{\"a\":1,\"seal\":{}\"{}\"}}\n", between, blank_seal());
    EXPECT_EQ(check_seal(text, {}), Seal::kBroken);
    base::Sha256 nothing;
    put_seal(text, nothing);
    EXPECT_EQ(check_seal(text, {}), Seal::kWhole);
    text[5] = '2';
    EXPECT_EQ(check_seal(text, {}), Seal::kBroken);
  }
}

TEST(Seal, IsNoneWithoutTheField) {
  EXPECT_EQ(check_seal("{}", {}), Seal::kNone);
  EXPECT_EQ(check_seal(R"({"seal":"12"})", {}), Seal::kNone);
  EXPECT_EQ(check_seal(fmt::format("{{\"a\":\"\\\"seal\\\":\\\"{}\\\"\"}}", blank_seal()), {}),
            Seal::kNone);
}

TEST(Seal, OfOldMetadataIsReplaced) {
  const std::vector<double> values = {1};
  const auto bytes =
      safetensors_bytes({{"x", tensor_of<double>(values, {1})}}, {{kSeal, "of another file"}});
  EXPECT_EQ(seal_of(bytes), Seal::kWhole);
}

}  // namespace
}  // namespace meanwhile::data
