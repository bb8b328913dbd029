// Archives of NumPy arrays, made here byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "meanwhile/data/files/npy_header.h"
#include "meanwhile/data/files/read.h"
#include "test/data/parsing.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::string npy(std::string_view descr, const std::vector<T>& values,
                const std::vector<std::int64_t>& shape) {
  std::string bytes = npy_header(descr, shape);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Array {
  std::string name, bytes;
};

std::string deflated(const std::string& bytes) {
  std::string out(compressBound(bytes.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zip(const std::vector<Array>& arrays, bool pack) {
  std::string file, directory;
  for (const Array& array : arrays) {
    const std::string name = array.name + ".npy";
    const std::string packed = pack ? deflated(array.bytes) : array.bytes;
    const auto crc = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(array.bytes.data()), array.bytes.size()));
    const auto offset = static_cast<std::uint32_t>(file.size());
    const auto common = [&](std::string& to) {
      put<std::uint16_t>(to, 20);
      put<std::uint16_t>(to, 0);
      put<std::uint16_t>(to, pack ? 8 : 0);
      put<std::uint32_t>(to, 0);
      put<std::uint32_t>(to, crc);
      put<std::uint32_t>(to, static_cast<std::uint32_t>(packed.size()));
      put<std::uint32_t>(to, static_cast<std::uint32_t>(array.bytes.size()));
      put<std::uint16_t>(to, static_cast<std::uint16_t>(name.size()));
      put<std::uint16_t>(to, 0);
    };
    put<std::uint32_t>(file, 0x04034b50);
    common(file);
    file += name + packed;
    put<std::uint32_t>(directory, 0x02014b50);
    put<std::uint16_t>(directory, 20);
    common(directory);
    directory.append(10, '\0');
    put<std::uint32_t>(directory, offset);
    directory += name;
  }
  const auto at = static_cast<std::uint32_t>(file.size());
  file += directory;
  put<std::uint32_t>(file, 0x06054b50);
  put<std::uint32_t>(file, 0);
  put<std::uint16_t>(file, static_cast<std::uint16_t>(arrays.size()));
  put<std::uint16_t>(file, static_cast<std::uint16_t>(arrays.size()));
  put<std::uint32_t>(file, static_cast<std::uint32_t>(directory.size()));
  put<std::uint32_t>(file, at);
  put<std::uint16_t>(file, 0);
  return file;
}

const std::vector<Array>& features_and_labels() {
  static const std::vector<Array> arrays = {{"X", npy<float>("<f4", {1, 2, 3, 4, 5, 6}, {3, 2})},
                                            {"y", npy<std::int64_t>("<i8", {0, 1, 1}, {3})}};
  return arrays;
}

Dataset read_file(const std::string& bytes, const std::string& name = "a.npz") {
  const TemporaryFolder folder;
  write_text(folder / name, bytes);
  return read({folder / name}, {});
}

std::string error_in(const std::string& bytes) {
  return error_of(base::ErrorKind::kInput, [&] { read_file(bytes); });
}

TEST(Npz, ReadsFeaturesAndLabels) {
  for (const bool pack : {false, true}) {
    for (const char* name : {"a.npz", "archive"}) {
      const auto rows = rows_of<float>(read_file(zip(features_and_labels(), pack), name));
      EXPECT_EQ(rows.cols, 2);
      EXPECT_THAT(rows.values, ElementsAre(1, 2, 3, 4, 5, 6));
      EXPECT_THAT(rows.labels, ElementsAre(0, 1, 1));
    }
  }
}

TEST(Npz, ReadsSparseMatricesOfScipy) {
  const auto rows =
      rows_of<double>(read_file(zip({{"indices", npy<std::int32_t>("<i4", {0, 2, 1}, {3})},
                                     {"indptr", npy<std::int32_t>("<i4", {0, 2, 3}, {3})},
                                     {"shape", npy<std::int64_t>("<i8", {2, 4}, {2})},
                                     {"data", npy<double>("<f8", {1.5, 2, 3}, {3})}},
                                    true)));
  EXPECT_TRUE(rows.sparse);
  EXPECT_EQ(rows.cols, 4);
  EXPECT_THAT(rows.columns, ElementsAre(0, 2, 1));
  EXPECT_THAT(rows.row_start, ElementsAre(0, 2, 3));
}

TEST(Npz, ArraysThatDoNotTellWhatTheyAre) {
  EXPECT_THAT(error_in(zip({{"a", npy<float>("<f4", {1, 2}, {1, 2})},
                            {"b", npy<float>("<f4", {1, 2}, {1, 2})}},
                           false)),
              HasSubstr("holds the arrays a, b; expected one, or features named x"));
  EXPECT_THAT(error_in(zip({{"x", npy<float>("<f4", {1, 2}, {2, 1})},
                            {"y", npy<float>("<f4", {1, 2, 3}, {3})}},
                           false)),
              HasSubstr("array y has 3 values for 2 rows"));
}

TEST(Npz, EveryCutAndEveryChangedByteIsRefusedOrHarmless) {
  const std::string whole = zip(features_and_labels(), true);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(read_file(whole.substr(0, size)), base::Error) << size;
  }
  const auto expected = rows_of<float>(read_file(whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    try {
      const Dataset data = read_file(changed);
      // Names, dates and the like may change; values may not.
      EXPECT_EQ(rows_of<float>(data).values, expected.values) << i;
    } catch (const base::Error&) {
    }
  }
}

}  // namespace
}  // namespace meanwhile::data
