#include "meanwhile/data/files/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "test/data/bytes_of.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string dictionary(const std::string& descr, const std::string& order,
                       const std::string& shape) {
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  text.resize(117, ' ');  // as NumPy does: the data begins at byte 128
  return text + '\n';
}

Dataset read(const std::string& text, bool mapped = false, std::size_t shift = 0) {
  const FileBytes file(text, shift);
  return read_npy(file.bytes(), "a.npy", file.owner(), mapped);
}

std::string error_in(const std::string& text) {
  return input_error_of([&] { read(text); });
}

template <class T>
std::vector<T> values(const Dataset& data) {
  const auto& x = std::get<Dense<T>>(data.x);
  return {x.values, x.values + x.rows * x.cols};
}

TEST(NpyReading, CFloatsAreAViewThatKeepsItsOwner) {
  std::weak_ptr<const void> memory;
  {
    Dataset data;
    {
      const FileBytes file(
          npy_text(dictionary("<f4", "False", "(2, 3)"), raw<float>({1, 2, 3, 4, 5, 6})));
      memory = file.watch();
      data = read_npy(file.bytes(), "a.npy", file.owner(), true);
      EXPECT_EQ(static_cast<const void*>(std::get<Dense<float>>(data.x).values),
                file.bytes().data() + 128);
    }
    EXPECT_TRUE(data.mapped);
    EXPECT_EQ(rows(data.x), 2);
    EXPECT_EQ(cols(data.x), 3);
    EXPECT_THAT(std::get<Dense<float>>(data.x).row(1), ElementsAre(4, 5, 6));
    EXPECT_FALSE(memory.expired());
  }
  EXPECT_TRUE(memory.expired());
}

TEST(NpyReading, FortranOrderBecomesRows) {
  const Dataset data =
      read(npy_text(dictionary("<f8", "True", "(2, 3)"), raw<double>({1, 4, 2, 5, 3, 6})), true);
  EXPECT_THAT(values<double>(data), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_FALSE(data.mapped);
}

TEST(NpyReading, FortranOrderOfManyTiles) {
  constexpr int kRows = 131, kCols = 67;
  std::string columns;
  for (int j = 0; j < kCols; ++j) {
    for (int i = 0; i < kRows; ++i) columns += raw<float>({static_cast<float>(i * 1000 + j)});
  }
  const Dataset data = read(npy_text(dictionary("<f4", "True", "(131, 67)"), columns));
  const auto& x = std::get<Dense<float>>(data.x);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kCols; ++j)
      ASSERT_EQ(x.row(i)[static_cast<std::size_t>(j)], static_cast<float>(i * 1000 + j));
  }
}

TEST(NpyReading, OneDimensionIsOneColumn) {
  const Dataset data =
      read(npy_text(dictionary("<f8", "True", "(3,)"), raw<double>({1, 2, 3})), true);
  EXPECT_EQ(rows(data.x), 3);
  EXPECT_EQ(cols(data.x), 1);
  EXPECT_TRUE(data.mapped);  // both orders are the same
}

TEST(NpyReading, VersionsTwoAndThreeHaveALongerLength) {
  const std::string text = dictionary("<f4", "False", "(1, 1)");
  for (const char version : {'\2', '\3'}) {
    const std::string file = std::string("\x93NUMPY") + version + std::string(1, '\0') +
                             raw<std::uint32_t>({static_cast<std::uint32_t>(text.size())}) + text +
                             raw<float>({7});
    EXPECT_THAT(values<float>(read(file)), ElementsAre(7));
  }
}

TEST(NpyReading, DataThatIsNotAlignedIsCopied) {
  const Dataset data =
      read(npy_text(dictionary("<f8", "False", "(1, 2)"), raw<double>({1, 2})), true, 3);
  EXPECT_THAT(values<double>(data), ElementsAre(1, 2));
  EXPECT_FALSE(data.mapped);
}

TEST(NpyReading, SmallIntegersBecomeFloat32AndLargeOnesFloat64) {
  const auto text = [](const std::string& descr, const std::string& data) {
    return npy_text(dictionary(descr, "False", "(1, 2)"), data);
  };
  EXPECT_THAT(values<float>(read(text("|i1", raw<std::int8_t>({-128, 127})))),
              ElementsAre(-128, 127));
  EXPECT_THAT(values<float>(read(text("|u1", raw<std::uint8_t>({0, 255})))), ElementsAre(0, 255));
  EXPECT_THAT(values<float>(read(text("<i2", raw<std::int16_t>({-32768, 32767})))),
              ElementsAre(-32768, 32767));
  EXPECT_THAT(values<float>(read(text("<u2", raw<std::uint16_t>({0, 65535})))),
              ElementsAre(0, 65535));
  EXPECT_THAT(values<double>(read(text("<i4", raw<std::int32_t>({INT32_MIN, INT32_MAX})))),
              ElementsAre(INT32_MIN, INT32_MAX));
  EXPECT_THAT(values<double>(read(text("<u4", raw<std::uint32_t>({0, UINT32_MAX})))),
              ElementsAre(0, UINT32_MAX));
  EXPECT_THAT(values<double>(read(text("<i8", raw<std::int64_t>({-1, std::int64_t{1} << 53})))),
              ElementsAre(-1, 0x1p53));
  EXPECT_THAT(values<double>(read(text("<u8", raw<std::uint64_t>({3, std::uint64_t{1} << 63})))),
              ElementsAre(3, 0x1p63));
}

TEST(NpyReading, HalvesBecomeFloat32Exactly) {
  // 1, -2, the largest, the smallest normal, the smallest, the largest subnormal, -0, infinity.
  const std::string data =
      raw<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x03ff, 0x8000, 0x7c00});
  const auto x = values<float>(read(npy_text(dictionary("<f2", "False", "(8,)"), data)));
  EXPECT_THAT(x, ElementsAre(1, -2, 65504, 0x1p-14f, 0x1p-24f, 1023 * 0x1p-24f, 0,
                             std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(std::signbit(x[6]));
}

TEST(NpyReading, TakesEveryWayPythonWritesTheDictionary) {
  for (const std::string text :
       {"{'descr':'<f4','fortran_order':False,'shape':(1,1)}",
        "{\"shape\": (1, 1), \"fortran_order\": False, \"descr\": \"<f4\"}  \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 1L), }\n"}) {
    EXPECT_THAT(values<float>(read(npy_text(text, raw<float>({7})))), ElementsAre(7)) << text;
  }
}

TEST(NpyReading, SaysWhatToDoAboutTypesItCannotRead) {
  const auto type = [](const std::string& descr) {
    return error_in(npy_text(dictionary(descr, "False", "(1, 1)"), "01234567"));
  };
  EXPECT_EQ(type(">f8"), "a.npy: big-endian values ('>f8') cannot be read; save x.astype('<f8')");
  EXPECT_EQ(type("|O"), "a.npy: object arrays cannot be read; save numbers, such as float32");
  EXPECT_THAT(type("<c8"), HasSubstr("complex values ('<c8') cannot be read"));
  EXPECT_THAT(type("<U2"),
              HasSubstr("element type '<U2' cannot be read; save x.astype('float32')"));
  EXPECT_THAT(type("|b1"), HasSubstr("'|b1' cannot be read"));
  EXPECT_THAT(type("|f8"), HasSubstr("'|f8' cannot be read"));
  EXPECT_THAT(type(""), HasSubstr("element type '' cannot be read"));
  EXPECT_THAT(error_in(npy_text(
                  "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "0123")),
              HasSubstr("structured arrays cannot be read"));
}

TEST(NpyReading, SaysWhatToDoAboutShapesItCannotRead) {
  const auto shape = [](const std::string& text) {
    return error_in(npy_text(dictionary("<f4", "False", text), "0123"));
  };
  EXPECT_EQ(shape("(1, 1, 1)"), "a.npy: 3 dimensions, shape (1, 1, 1); reshape to (rows, columns)");
  EXPECT_EQ(shape("()"), "a.npy: 0 dimensions, shape (); reshape to (rows, columns)");
  EXPECT_EQ(shape("(0, 4)"), "a.npy: shape (0, 4): it holds no values");
  EXPECT_THAT(shape("(4611686018427387904, 4)"), HasSubstr("too large"));
  EXPECT_THAT(shape("(99999999999999999999, 4)"), HasSubstr("expected a size"));
  EXPECT_THAT(shape("(-1, 4)"), HasSubstr("expected a size"));
  EXPECT_THAT(shape("(1)"), HasSubstr("expected , after the only size"));
}

TEST(NpyReading, SaysHowManyBytesAreMissingOrTooMany) {
  const std::string whole = npy_text(dictionary("<f4", "False", "(2, 3)"), std::string(24, '\0'));
  EXPECT_EQ(error_in(whole.substr(0, whole.size() - 5)),
            "a.npy: cut short: 5 of the 24 bytes of shape (2, 3) are missing");
  EXPECT_EQ(error_in(whole + "abc"), "a.npy: 3 bytes follow the 24 bytes of shape (2, 3)");
  EXPECT_EQ(error_in(whole.substr(0, 100)),
            "a.npy: cut short: 100 bytes, the header alone has 128");
  EXPECT_THAT(error_in(whole.substr(0, 9)), HasSubstr("cut short: 9 bytes"));
  EXPECT_EQ(error_in(""), "a.npy: is empty");
  for (std::size_t size = 0; size < whole.size(); ++size) error_in(whole.substr(0, size));
}

TEST(NpyReading, RefusesHeadersThatAreNone) {
  const auto header = [](const std::string& text) { return error_in(npy_text(text, "0123")); };
  EXPECT_THAT(error_in("1,2,3\n4,5,6\n"), HasSubstr("not an NPY file"));
  EXPECT_THAT(error_in(std::string("\x93NUMPY\4\0....", 12)),
              HasSubstr("NPY version 4.0 is unknown"));
  EXPECT_THAT(header(""), HasSubstr("expected {"));
  EXPECT_THAT(header("{}"), HasSubstr("is missing"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("is missing"));
  EXPECT_THAT(header("{'descr': '<f4', 'descr': '<f4'}"),
              HasSubstr("key 'descr' is unknown or occurs twice"));
  EXPECT_THAT(header("{'colour': 'red'}"), HasSubstr("key 'colour'"));
  EXPECT_THAT(header("{'descr': <f4}"), HasSubstr("expected a string at '<f4}'"));
  EXPECT_THAT(header("{'descr': '<f4"), HasSubstr("expected a string that ends"));
  EXPECT_THAT(header("{'fortran_order': 0}"), HasSubstr("expected True or False"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), } x"),
              HasSubstr("expected the end"));
}

TEST(NpyWriting, GivesTheBytesThatNumPyWrites) {
  const TemporaryFolder folder;
  const std::int32_t labels[] = {1, 2, 3};
  write_npy<std::int32_t>(folder / "a.npy", labels, {3});
  // numpy.save of numpy.array([1, 2, 3], dtype="<i4")
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  header.resize(117, ' ');
  EXPECT_EQ(base::read_file(folder / "a.npy"), std::string("\x93NUMPY\1\0\x76\0", 10) + header +
                                                   "\n" +
                                                   std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12));
}

TEST(NpyWriting, IsReadBackAndAppearsOnlyWhenComplete) {
  const TemporaryFolder folder;
  NpyWriter<double> writer(folder / "a.npy", {2, 2});
  writer.append(std::vector<double>{1, 2});
  writer.append(std::vector<double>{3, 4});
  EXPECT_FALSE(std::filesystem::exists(folder / "a.npy"));
  writer.commit();
  EXPECT_THAT(values<double>(read(base::read_file(folder / "a.npy"))), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace meanwhile::data
