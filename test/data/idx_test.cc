#include "meanwhile/data/files/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/data/bytes_of.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Dataset read(const std::string& text, DType dtype = DType::kFloat64) {
  const FileBytes file(text);
  return read_idx(file.bytes(), "a.idx", dtype);
}

std::string error_in(const std::string& text) {
  return input_error_of([&] { read(text); });
}

// A header byte by byte: two zeros, the type, the dimensions, then each of them in four bytes.
std::string header(char type, std::initializer_list<char> dimensions) {
  std::string text = {'\0', '\0', type, static_cast<char>(dimensions.size())};
  for (const char size : dimensions) text += std::string(3, '\0') + size;
  return text;
}

template <class T>
std::vector<T> values(const Dataset& data) {
  const auto& x = std::get<Dense<T>>(data.x);
  return {x.values, x.values + x.rows * x.cols};
}

TEST(IdxReading, ImagesBecomeRowsOfPixels) {
  const Dataset data = read(
      header(8, {2, 2, 3}) + std::string("\0\1\2\3\4\5\xff\7\10\11\12\13", 12), DType::kFloat32);
  EXPECT_EQ(rows(data.x), 2);
  EXPECT_EQ(cols(data.x), 6);
  EXPECT_THAT(std::get<Dense<float>>(data.x).row(0), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(std::get<Dense<float>>(data.x).row(1), ElementsAre(255, 7, 8, 9, 10, 11));
}

TEST(IdxReading, OneDimensionIsOneColumn) {
  const Dataset data = read(header(8, {3}) + "\1\2\3");
  EXPECT_EQ(rows(data.x), 3);
  EXPECT_EQ(cols(data.x), 1);
}

TEST(IdxReading, EveryTypeIsBigEndian) {
  EXPECT_THAT(values<double>(read(header(0x09, {2}) + "\xff\x7f")), ElementsAre(-1, 127));
  EXPECT_THAT(values<double>(read(header(0x0B, {2}) + "\xff\xfe\x01\x02")), ElementsAre(-2, 258));
  EXPECT_THAT(values<double>(read(header(0x0C, {2}) + "\xff\xff\xff\xfd\x01\x02\x03\x04")),
              ElementsAre(-3, 0x01020304));
  EXPECT_THAT(values<double>(read(header(0x0D, {1}) + std::string("\x3f\xc0\0\0", 4))),
              ElementsAre(1.5));
  EXPECT_THAT(values<double>(read(header(0x0E, {1}) + std::string("\xc0\x04\0\0\0\0\0\0", 8))),
              ElementsAre(-2.5));
  EXPECT_THAT(values<float>(read(header(0x0E, {1}) + std::string("\xc0\x04\0\0\0\0\0\0", 8),
                                 DType::kFloat32)),
              ElementsAre(-2.5f));
}

TEST(IdxReading, RefusesWhatIsNone) {
  EXPECT_EQ(error_in(""), "a.idx: is empty");
  EXPECT_THAT(error_in("1,2,3\n"), HasSubstr("not an IDX file"));
  EXPECT_THAT(error_in(std::string(3, '\0')), HasSubstr("not an IDX file"));
  EXPECT_THAT(error_in(header(0x0A, {1}) + "a"),
              HasSubstr("element type 0x0a of the IDX header is unknown"));
  EXPECT_THAT(error_in(header(8, {})), HasSubstr("0 dimensions"));
  EXPECT_THAT(error_in(header(8, {0, 3})), HasSubstr("dimension 1 is 0"));
}

TEST(IdxReading, SaysWhatIsMissingOrTooMuch) {
  const std::string whole = header(8, {2, 3}) + "abcdef";
  EXPECT_EQ(error_in(whole.substr(0, 15)),
            "a.idx: cut short: 3 bytes of values, the header promises 6");
  EXPECT_EQ(error_in(whole.substr(0, 7)),
            "a.idx: cut short: 7 bytes, the header of 2 dimensions alone has 12");
  EXPECT_EQ(error_in(whole + "gh"),
            "a.idx: 2 bytes follow the 6 bytes of values that the header promises");
  for (std::size_t size = 0; size < whole.size(); ++size) error_in(whole.substr(0, size));
}

TEST(IdxReading, DimensionsThatOverflowAreAnError) {
  std::string text = {'\0', '\0', '\x0E', '\3'};
  text += std::string(12, '\xff');
  EXPECT_THAT(error_in(text), HasSubstr("too large"));
}

}  // namespace
}  // namespace meanwhile::data
