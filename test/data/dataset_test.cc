#include "meanwhile/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "meanwhile/base/file.h"
#include "meanwhile/data/digest.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
Dataset dense(const std::vector<T>& values, std::int64_t rows, std::int64_t cols) {
  Dataset data;
  data.x = Dense<T>{values.data(), rows, cols};
  return data;
}

TEST(ByteSize, CountsEveryArray) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<double> weights = {1, 1};
  Dataset data = dense(values, 2, 3);
  EXPECT_EQ(byte_size(data), 24);
  data.weights = weights;
  EXPECT_EQ(byte_size(data), 40);
  const std::vector<std::int64_t> row_start = {0, 2, 5};
  const std::vector<std::int32_t> columns = {0, 1, 0, 1, 2};
  data.x = Sparse<float>{row_start.data(), columns.data(), values.data(), 2, 3};
  EXPECT_EQ(byte_size(data), 3 * 8 + 5 * 4 + 5 * 4 + 16);
  EXPECT_EQ(byte_size(Dataset{}), 0);
}

TEST(DatasetSha256, SeesShapeTypeValuesWeightsAndLabels) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6}, other = {1, 2, 3, 4, 5, 7};
  const std::vector<double> wide(values.begin(), values.end()), rows = {1, 2};
  const std::vector<std::int64_t> row_start = {0, 3, 6};
  const std::vector<std::int32_t> columns = {0, 1, 2, 0, 1, 2};
  std::set<std::string> hashes;
  hashes.insert(sha256(dense(values, 2, 3), 1));
  hashes.insert(sha256(dense(values, 3, 2), 1));
  hashes.insert(sha256(dense(other, 2, 3), 1));
  hashes.insert(sha256(dense(wide, 2, 3), 1));
  Dataset data = dense(values, 2, 3);
  data.weights = rows;
  hashes.insert(sha256(data, 1));
  std::swap(data.weights, data.labels);
  hashes.insert(sha256(data, 1));
  data.class_names = {"a", "b", "c"};
  hashes.insert(sha256(data, 1));
  data.x = Sparse<float>{row_start.data(), columns.data(), values.data(), 2, 3};
  hashes.insert(sha256(data, 1));
  EXPECT_EQ(hashes.size(), 8u);

  Dataset named = dense(values, 2, 3);
  named.feature_names = {"a", "b", "c"};
  EXPECT_EQ(sha256(named, 1), sha256(dense(values, 2, 3), 1));
}

TEST(DatasetSha256, IsTheSameForAnyThreadsAndWhereverTheDataLies) {
  // Many runs of blocks, so that threads have something to share, and a last block that is short.
  const TemporaryFolder folder;
  std::vector<float> values(4'000'010);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000);
  base::FileWriter writer(folder / "values");
  writer.write(std::as_bytes(std::span(values)));
  writer.commit();
  const base::MappedFile file(folder / "values");
  Dataset data = dense(values, 400'001, 10);
  const std::string hash = sha256(data, 1);
  EXPECT_EQ(sha256(data, 3), hash);
  data.x = Dense<float>{reinterpret_cast<const float*>(file.bytes().data()), 400'001, 10};
  data.mapped = true;
  EXPECT_EQ(sha256(data, 2), hash);
}

TEST(DatasetSha256, IsThatOfThePartsWhateverElseIsHeldBesideThem) {
  // Rows 256 .. 511 and 512 .. 599 of a sparse matrix, once in place and once in a matrix of
  // theirs.
  std::vector<std::int64_t> row_start = {0};
  std::vector<std::int32_t> columns;
  std::vector<float> values;
  std::vector<double> labels;
  for (int row = 0; row < 600; ++row) {
    for (int i = 0; i < row % 5; ++i) {
      columns.push_back(i);
      values.push_back(static_cast<float>(row + i));
    }
    row_start.push_back(static_cast<std::int64_t>(columns.size()));
    labels.push_back(row % 3);
  }
  Dataset all;
  all.x = Sparse<float>{row_start.data(), columns.data(), values.data(), 600, 4};
  all.labels = labels;
  ASSERT_EQ(block_rows(600), 4);
  const auto digests = block_digests(all, blocks_of(600, 4), 2);
  ASSERT_EQ(digests.size(), 150u);

  const auto first = static_cast<std::size_t>(row_start[256]);
  std::vector<std::int64_t> tail_start;
  for (std::size_t row = 256; row <= 600; ++row)
    tail_start.push_back(row_start[row] - row_start[256]);
  Dataset tail;
  tail.x = Sparse<float>{tail_start.data(), columns.data() + first, values.data() + first, 344, 4};
  tail.labels = std::span(labels).subspan(256);
  const auto tail_digests = block_digests(tail, blocks_of(344, 4), 1);
  ASSERT_EQ(tail_digests.size(), 86u);
  EXPECT_TRUE(std::equal(tail_digests.begin(), tail_digests.end(), digests.begin() + 64));
  EXPECT_EQ(sha256(tail, whole_of(all), digests), sha256(all, 1));
}

template <class T>
class CheckFinite : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(CheckFinite, Floats);

TYPED_TEST(CheckFinite, AcceptsEveryFiniteValue) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> values = {
      0, -TypeParam{0}, Limits::max(), Limits::lowest(), Limits::min(), Limits::denorm_min()};
  EXPECT_NO_THROW(check_finite(dense(values, 2, 3).x, "a", 2));
}

TYPED_TEST(CheckFinite, FindsTheFirstBadValueWhereverItIs) {
  constexpr std::int64_t kRows = 150'000, kCols = 7;
  std::vector<TypeParam> values(kRows * kCols, 1);
  const auto at = [&](std::int64_t row, std::int64_t col) -> TypeParam& {
    return values[static_cast<std::size_t>(row * kCols + col)];
  };
  const auto message = [&] {
    return input_error_of([&] { check_finite(dense(values, kRows, kCols).x, "a.npy", 3); });
  };
  at(kRows - 1, 6) = static_cast<TypeParam>(-kInfinity);
  EXPECT_EQ(
      message(),
      "a.npy: row 149999, column 6 (counted from 0): -inf is not a finite number; remove such "
      "rows or fill them in");
  at(100'000, 3) = static_cast<TypeParam>(kInfinity);
  EXPECT_THAT(message(), testing::HasSubstr("row 100000, column 3 (counted from 0): inf"));
  at(0, 1) = static_cast<TypeParam>(kNan);
  EXPECT_THAT(message(), testing::HasSubstr("row 0, column 1 (counted from 0): nan"));
}

TYPED_TEST(CheckFinite, NamesTheColumnOfASparseEntry) {
  const std::vector<std::int64_t> row_start = {0, 2, 2, 4};
  const std::vector<std::int32_t> columns = {0, 9, 3, 5};
  std::vector<TypeParam> values = {1, 2, 3, 4};
  const Matrix x = Sparse<TypeParam>{row_start.data(), columns.data(), values.data(), 3, 10};
  EXPECT_NO_THROW(check_finite(x, "a", 1));
  values[2] = static_cast<TypeParam>(kNan);
  EXPECT_THAT(input_error_of([&] { check_finite(x, "a", 1); }),
              testing::HasSubstr("row 2, column 3 (counted from 0)"));
}

}  // namespace
}  // namespace meanwhile::data
