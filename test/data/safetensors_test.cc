#include "meanwhile/data/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/data/bytes_of.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string error_in(const std::string& text) {
  return input_error_of([&] {
    const FileBytes file(text);
    const SafetensorsFile parsed(file.bytes(), "a.safetensors");
  });
}

TEST(SafetensorsWriting, GivesTheseBytes) {
  const TemporaryFolder folder;
  const float x[] = {1, 2, 3};
  const std::int64_t n[] = {258};
  write_safetensors(folder / "a",
                    {{"n", tensor_of<std::int64_t>(n, {1})}, {"x", tensor_of<float>(x, {3, 1})}},
                    {{"kind", "model"}});
  const std::string seal = SafetensorsFile(folder / "a").metadata().at(kSeal);
  std::string json =
      R"({"__metadata__":{"kind":"model","seal":"#"},"n":{"data_offsets":[0,8],"dtype":"I64","shape":[1]},)"
      R"("x":{"data_offsets":[8,20],"dtype":"F32","shape":[3,1]}})";
  json.replace(json.find('#'), 1, seal);
  ASSERT_EQ(json.size(), 216u);  // with 8 bytes of length and 32 blanks: 256 = 4 * 64
  const std::string header = std::string("\xf8\0\0\0\0\0\0\0", 8) + json + std::string(32, ' ');
  const std::string values =
      std::string("\2\1\0\0\0\0\0\0", 8) + std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12);
  EXPECT_EQ(base::read_file(folder / "a"), header + values);
  // The seal, made by hand: the tensors, then the header with zeros for the digits.
  std::string unsealed = header;
  unsealed.replace(unsealed.find("\"seal\":\"") + 8, 64, 64, '0');
  base::Sha256 hash;
  hash.add(values);
  hash.add(unsealed);
  EXPECT_EQ(seal, hash.hex());
}

TEST(SafetensorsWriting, IsReadBack) {
  const TemporaryFolder folder;
  const float f[] = {1.5f, -2};
  const double d[] = {3.25};
  const std::int32_t i[] = {7, 8, 9};
  const Metadata metadata = {{"kind", "data"}, {"quote", "\"\n\u00e9"}};
  write_safetensors(folder / "a",
                    {{"a", tensor_of<std::int32_t>(i, {3})},
                     {"b", tensor_of<float>(f, {1, 2})},
                     {"c", tensor_of<double>(d, {})},
                     {"none", tensor_of<float>({}, {0, 5})}},
                    metadata);
  const SafetensorsFile file(folder / "a");
  for (const auto& [key, value] : metadata) EXPECT_EQ(file.metadata().at(key), value);
  EXPECT_EQ(file.metadata().size(), metadata.size() + 1);  // the seal
  EXPECT_THAT(file.tensor("a").as<std::int32_t>(), ElementsAre(7, 8, 9));
  EXPECT_THAT(file.tensor("b").as<float>(), ElementsAre(1.5f, -2));
  EXPECT_THAT(file.tensor("b").shape, ElementsAre(1, 2));
  EXPECT_THAT(file.tensor("c").as<double>(), ElementsAre(3.25));
  EXPECT_THAT(file.tensor("c").shape, ElementsAre());
  EXPECT_TRUE(file.tensor("none").as<float>().empty());
  EXPECT_NE(file.mapping(), nullptr);
}

TEST(SafetensorsWriting, AlignsEveryTensorToItsElements) {
  const TemporaryFolder folder;
  const float odd[] = {1, 2, 3};
  const double d[] = {4};
  // "a" is first by name; its 12 bytes must not come before 8-byte elements.
  write_safetensors(folder / "a",
                    {{"a", tensor_of<float>(odd, {3})}, {"z", tensor_of<double>(d, {1})}}, {});
  const SafetensorsFile file(folder / "a");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensor("z").bytes.data()) % 64, 0u);
  EXPECT_THAT(file.tensor("z").as<double>(), ElementsAre(4));
  EXPECT_THAT(file.tensor("a").as<float>(), ElementsAre(1, 2, 3));
}

TEST(SafetensorsWriting, RefusesATensorWhoseBytesAreNotItsShape) {
  const TemporaryFolder folder;
  const float x[] = {1, 2, 3};
  const std::string message = error_of(base::ErrorKind::kUsage, [&] {
    write_safetensors(folder / "a", {{"x", tensor_of<float>(x, {2, 2})}}, {});
  });
  EXPECT_THAT(message, HasSubstr("tensor 'x' has 12 bytes, its shape [2, 2] of F32 needs 16"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(SafetensorsHeader, FillsTheRoomThatWasLeftForIt) {
  const std::vector<TensorSpec> specs = {{"x", "F32", {1000, 3}}, {"labels", "F64", {1000}}};
  for (const std::size_t room : {0u, 64u, 256u, 4096u}) {
    const SafetensorsHeader header = safetensors_header(specs, {{"kind", "data"}}, room);
    EXPECT_GE(header.text.size(), room);
    EXPECT_EQ(header.text.size() % 64, 0u);
    EXPECT_THAT(header.offsets, ElementsAre(header.text.size(), header.text.size() + 12000));
    EXPECT_EQ(header.file_bytes, header.text.size() + 20000);
    const FileBytes file(header.text + std::string(20000, '\0'));
    EXPECT_EQ(SafetensorsFile(file.bytes(), "a").tensor("labels").shape,
              std::vector<std::int64_t>{1000});
  }
  EXPECT_EQ(safetensors_header(specs, {}, 4096).text.size(), 4096u);
}

TEST(SafetensorsHeader, RefusesWhatCannotBeWritten) {
  const auto refused = [](const TensorSpec& spec) {
    return error_of(base::ErrorKind::kUsage, [&] { safetensors_header({spec}, {}); });
  };
  EXPECT_THAT(refused({"x", "F33", {1}}), HasSubstr("'x' of type F33"));
  EXPECT_THAT(refused({"x", "F32", {INT64_MAX, 2}}), HasSubstr("shape [9223372036854775807, 2]"));
  EXPECT_THAT(refused({"x", "F32", {-1}}), HasSubstr("shape [-1]"));
}

TEST(SafetensorsHeader, ANameThatIsNoUtf8DoesNotCostTheFile) {
  const SafetensorsHeader header = safetensors_header({}, {{"file", "caf\xe9.csv"}});
  const FileBytes file(header.text);
  EXPECT_EQ(SafetensorsFile(file.bytes(), "a").metadata().at("file"), "caf\ufffd.csv");
}

TEST(SafetensorsReading, KnowsTheTypesOfOtherSoftware) {
  const FileBytes file(
      safetensors_text(R"({"h":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
                       R"("q":{"dtype":"F4","shape":[2,2],"data_offsets":[6,8]},)"
                       R"("b":{"dtype":"BOOL","shape":[1],"data_offsets":[8,9]}}   )",
                       "012345678"));
  const SafetensorsFile parsed(file.bytes(), "a");
  EXPECT_EQ(parsed.tensor("h").bytes.size(), 6u);
  EXPECT_EQ(parsed.tensor("b").bytes[0], std::byte{'8'});
  EXPECT_THAT(input_error_of([&] { (void)parsed.tensor("h").as<float>(); }),
              HasSubstr("is a tensor of BF16, expected F32"));
  EXPECT_THAT(input_error_of([&] { (void)parsed.tensor("x"); }),
              HasSubstr("a: no tensor 'x'; it holds: b, h, q"));
}

TEST(SafetensorsReading, SaysWhenElementsAreNotAligned) {
  const FileBytes file(safetensors_text(
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"d":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})",
      "012345678"));
  const SafetensorsFile parsed(file.bytes(), "a");
  EXPECT_THAT(input_error_of([&] { (void)parsed.tensor("d").as<double>(); }),
              HasSubstr("does not begin at a multiple of its 8 bytes"));
}

TEST(SafetensorsReading, SaysByHowMuchAFileWasCut) {
  const std::string whole = safetensors_text(
      R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", std::string(16, 'x'));
  ASSERT_EQ(whole.size(), 79u);
  EXPECT_EQ(error_in(whole.substr(0, 70)),
            "a.safetensors: cut short: 70 bytes, the header promises 79");
  EXPECT_EQ(error_in(whole.substr(0, 40)),
            "a.safetensors: cut short: 40 bytes, the header alone has 63");
  EXPECT_EQ(error_in(whole + "x"), "a.safetensors: 1 bytes follow the last tensor");
  EXPECT_EQ(error_in(""), "a.safetensors: is empty");
  EXPECT_THAT(error_in("abc"), HasSubstr("not a safetensors file: only 3 bytes"));
  // Whatever the length, a cut file is an error and never a crash.
  for (std::size_t size = 0; size < whole.size(); ++size) error_in(whole.substr(0, size));
}

TEST(SafetensorsReading, RefusesHeadersThatAreNone) {
  const auto header_error = [](const std::string& json) {
    return error_in(safetensors_text(json, ""));
  };
  EXPECT_THAT(error_in(raw<std::uint64_t>({100'000'001}) + "{}"),
              HasSubstr("the limit is 100000000"));
  EXPECT_THAT(error_in(raw<std::uint64_t>({UINT64_MAX}) + "{}"),
              HasSubstr("the limit is 100000000"));
  EXPECT_THAT(header_error("{"), HasSubstr("not JSON"));
  EXPECT_THAT(header_error("{\"\xff\":1}"), HasSubstr("not JSON"));
  EXPECT_THAT(header_error("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(header_error(std::string(100'000, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(header_error(R"({"__metadata__":[]})"), HasSubstr("__metadata__ is not an object"));
  EXPECT_THAT(header_error(R"({"__metadata__":{"a":1}})"),
              HasSubstr("metadata 'a' is not a string"));
}

TEST(SafetensorsReading, RefusesTensorsThatAreWronglyDescribed) {
  const auto x = [](const std::string& info) {
    return error_in(safetensors_text(R"({"x":)" + info + "}", "01234567"));
  };
  EXPECT_THAT(x("1"), HasSubstr("tensor 'x': is not described by an object"));
  EXPECT_THAT(x(R"({"shape":[2],"data_offsets":[0,8]})"), HasSubstr("\"dtype\" is missing"));
  EXPECT_THAT(x(R"({"dtype":3,"shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("\"dtype\" is missing"));
  EXPECT_THAT(x(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("'F33' is unknown"));
  EXPECT_THAT(x(R"({"dtype":"F32","data_offsets":[0,8]})"), HasSubstr("\"shape\" is missing"));
  EXPECT_THAT(x(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
              HasSubstr("\"shape\" holds values that are not counts"));
  EXPECT_THAT(x(R"({"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})"),
              HasSubstr("\"shape\" holds values that are not counts"));
  EXPECT_THAT(x(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"),
              HasSubstr("\"shape\" holds values that are not counts"));
  EXPECT_THAT(x(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})"),
              HasSubstr("is not a whole number of bytes"));
  EXPECT_THAT(x(R"({"dtype":"F4","shape":[1],"data_offsets":[0,1]})"),
              HasSubstr("is not a whole number of bytes"));
  EXPECT_THAT(x(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"),
              HasSubstr("not [begin, end]"));
  EXPECT_THAT(x(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("not [begin, end]"));
  EXPECT_THAT(x(R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})"),
              HasSubstr("shape [1] of F32 needs 4 bytes, its offsets span 8"));
  EXPECT_THAT(
      x(R"({"dtype":"F32","shape":[2],"data_offsets":[9223372036854775799,9223372036854775807]})"),
      HasSubstr("begins at byte 9223372036854775799"));
}

TEST(SafetensorsReading, RefusesOverlapsHolesAndDuplicates) {
  const auto two = [](const std::string& a, const std::string& first, const std::string& b,
                      const std::string& second) {
    return error_in(safetensors_text(
        "{\"" + a + R"(":{"dtype":"U8","shape":[4],"data_offsets":)" + first + "},\"" + b +
            R"(":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
        "01234567"));
  };
  EXPECT_THAT(
      two("a", "[0,4]", "b", "[3,7]"),
      HasSubstr("tensor 'b' begins at byte 3 of the data, inside another that ends at byte 4"));
  EXPECT_THAT(two("a", "[4,8]", "b", "[4,8]"),
              HasSubstr("byte 4 of the data, the one before ends at byte 0"));
  EXPECT_THAT(two("a", "[5,9]", "b", "[0,4]"),
              HasSubstr("tensor 'a' begins at byte 5 of the data, the one before ends at byte 4"));
  EXPECT_THAT(two("a", "[0,4]", "a", "[4,8]"), HasSubstr("two tensors are named 'a'"));
}

TEST(SafetensorsReading, TakesTensorsInAnyOrder) {
  const FileBytes file(safetensors_text(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
      "0123"));
  EXPECT_EQ(SafetensorsFile(file.bytes(), "a").tensor("a").bytes[0], std::byte{'2'});
}

TEST(TensorsSha256, SeesNamesTypesShapesAndBytesOnly) {
  const float x[] = {1, 2}, y[] = {1, 3};
  const std::int32_t same_bits[] = {0x3f800000, 0x40000000};
  const std::string hash = sha256({{"x", tensor_of<float>(x, {2})}});
  EXPECT_EQ(hash, sha256({{"x", tensor_of<float>(x, {2})}}));
  EXPECT_NE(hash, sha256({{"y", tensor_of<float>(x, {2})}}));
  EXPECT_NE(hash, sha256({{"x", tensor_of<float>(x, {1, 2})}}));
  EXPECT_NE(hash, sha256({{"x", tensor_of<float>(y, {2})}}));
  EXPECT_NE(hash, sha256({{"x", tensor_of<std::int32_t>(same_bits, {2})}}));
  EXPECT_EQ(hash.size(), 64u);
}

}  // namespace
}  // namespace meanwhile::data
