#include "meanwhile/data/files/safetensors_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "meanwhile/data/safetensors.h"
#include "test/data/bytes_of.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Dataset read(const std::string& text, bool mapped = false) {
  const FileBytes file(text);
  return read_safetensors(file.bytes(), "a", file.owner(), mapped);
}

// The file of these tensors, as bytes.
std::string file_of(const std::map<std::string, Tensor>& tensors, const Metadata& metadata = {}) {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", tensors, metadata);
  return base::read_file(folder / "a");
}

std::string error_in(const std::map<std::string, Tensor>& tensors, const Metadata& metadata = {}) {
  return input_error_of([&] { read(file_of(tensors, metadata)); });
}

Tensor f32(std::span<const float> values, std::vector<std::int64_t> shape) {
  return tensor_of(values, std::move(shape));
}

const std::vector<float> kSix = {1, 2, 3, 4, 5, 6};
const std::vector<double> kTwo = {0.5, 1};

TEST(SafetensorsData, DenseIsAViewWithWeightsLabelsAndNames) {
  const std::string text = file_of({{"x", f32(kSix, {2, 3})},
                                    {"weights", tensor_of<double>(kTwo, {2})},
                                    {"labels", tensor_of<double>(std::vector<double>{1, 0}, {2})}},
                                   {{"kind", "data"},
                                    {"format_version", "1"},
                                    {"layout", "dense"},
                                    {"rows", "2"},
                                    {"cols", "3"},
                                    {"class_names", R"(["cat","dog"])"},
                                    {"feature_names", R"(["a","b","c"])"}});
  const Dataset data = read(text, true);
  EXPECT_TRUE(data.mapped);
  EXPECT_THAT(std::get<Dense<float>>(data.x).row(1), ElementsAre(4, 5, 6));
  EXPECT_THAT(data.weights, ElementsAre(0.5, 1));
  EXPECT_THAT(data.labels, ElementsAre(1, 0));
  EXPECT_THAT(data.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(data.feature_names, ElementsAre("a", "b", "c"));
}

TEST(SafetensorsData, AForeignFileOfOneTensorIsDense) {
  EXPECT_EQ(cols(read(file_of({{"embedding", f32(kSix, {2, 3})}})).x), 3);
  EXPECT_EQ(cols(read(file_of({{"weights", f32(kSix, {6})}})).x), 1);
  EXPECT_TRUE(std::holds_alternative<Dense<double>>(
      read(file_of({{"x", tensor_of<double>(kTwo, {1, 2})}})).x));
}

TEST(SafetensorsData, AForeignFileMayHaveLabelsOfOtherTypes) {
  const std::vector<std::int64_t> labels = {3, 4};
  const Dataset data = read(file_of({{"x", f32(kSix, {2, 3})},
                                     {"labels", tensor_of<std::int64_t>(labels, {2})},
                                     {"weights", f32({kSix.data(), 2}, {2})}},
                                    {{"rows", "not ours"}}));
  EXPECT_THAT(data.labels, ElementsAre(3, 4));
  EXPECT_THAT(data.weights, ElementsAre(1, 2));
}

TEST(SafetensorsData, WhatIsNotAlignedIsCopiedAndNotCalledMapped) {
  const Dataset data =
      read(safetensors_text(R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})",
                            raw<double>({1, 2})),
           true);
  EXPECT_THAT(std::get<Dense<double>>(data.x).row(1), ElementsAre(2));
  EXPECT_FALSE(data.mapped);
}

TEST(SafetensorsData, SaysWhyAFileIsNoData) {
  EXPECT_EQ(error_in({{"centers", f32(kSix, {2, 3})}}, {{"kind", "model"}}),
            "a: holds a model, expected data: rows of numbers");
  EXPECT_THAT(error_in({{"p", f32(kSix, {6})}, {"q", f32(kSix, {6})}}),
              HasSubstr("a: holds 2 tensors (p, q); expected a single one"));
  EXPECT_THAT(error_in({}), HasSubstr("holds 0 tensors"));
  EXPECT_THAT(error_in({{"x", f32(kSix, {1, 2, 3})}}),
              HasSubstr("a: tensor 'x' has shape [1, 2, 3]; reshape to [rows, columns]"));
  EXPECT_THAT(error_in({{"x", f32({}, {0, 3})}}), HasSubstr("holds no values"));
  const std::vector<std::int32_t> counts = {1, 2};
  EXPECT_THAT(error_in({{"x", tensor_of<std::int32_t>(counts, {2})}}),
              HasSubstr("tensor 'x' is of I32; save it as F32 or F64"));
  EXPECT_THAT(error_in({{"x", f32(kSix, {2, 3})}}, {{"kind", "data"}, {"format_version", "2"}}),
              HasSubstr("format_version 2 is unknown"));
}

TEST(SafetensorsData, SaysWhatDoesNotFitTheRows) {
  const Tensor x = f32(kSix, {2, 3});
  EXPECT_THAT(
      error_in({{"x", x}, {"weights", f32(kSix, {6})}}),
      HasSubstr("tensor 'weights' has shape [6], expected one number for each of the 2 rows"));
  EXPECT_THAT(error_in({{"x", x}, {"weights", f32(std::vector<float>{1, -1}, {2})}}),
              HasSubstr("weights[1] is -1"));
  EXPECT_THAT(
      error_in(
          {{"x", x},
           {"labels", f32(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}, {2})}}),
      HasSubstr("labels[1] is nan"));
  const Metadata classes = {{"kind", "data"}, {"class_names", R"(["cat"])"}};
  EXPECT_THAT(error_in({{"x", x}, {"labels", f32(std::vector<float>{0, 1}, {2})}}, classes),
              HasSubstr("labels[1] is 1, expected the number of one of 1 class_names"));
  EXPECT_THAT(error_in({{"x", x}, {"labels", f32(std::vector<float>{0.5, 0}, {2})}}, classes),
              HasSubstr("labels[0] is 0.5"));
  EXPECT_THAT(error_in({{"x", x}}, {{"kind", "data"}, {"rows", "3"}}),
              HasSubstr("metadata promises 3 x 3, the tensors hold 2 x 3"));
  EXPECT_THAT(error_in({{"x", x}}, {{"kind", "data"}, {"cols", "-3"}}),
              HasSubstr("cols = '-3' is not a count"));
  EXPECT_THAT(error_in({{"x", x}}, {{"kind", "data"}, {"feature_names", R"(["a"])"}}),
              HasSubstr("1 feature_names for 3 columns"));
  EXPECT_THAT(error_in({{"x", x}}, {{"kind", "data"}, {"feature_names", "[1]"}}),
              HasSubstr("feature_names is not a JSON list of strings"));
}

struct SparseFile {
  std::vector<std::int64_t> row_start = {0, 2, 2, 3};
  std::vector<std::int32_t> columns = {0, 4, 2};
  std::vector<float> values = {1, 2, 3};
  Metadata metadata = {{"kind", "data"}, {"layout", "sparse"}, {"rows", "3"}, {"cols", "7"}};

  std::map<std::string, Tensor> tensors() const {
    return {
        {"row_start",
         tensor_of<std::int64_t>(row_start, {static_cast<std::int64_t>(row_start.size())})},
        {"columns", tensor_of<std::int32_t>(columns, {static_cast<std::int64_t>(columns.size())})},
        {"values", f32(values, {static_cast<std::int64_t>(values.size())})}};
  }
  std::string error() const { return error_in(tensors(), metadata); }
};

TEST(SafetensorsData, SparseIsAView) {
  const SparseFile file;
  const Dataset data = read(file_of(file.tensors(), file.metadata), true);
  const auto& x = std::get<Sparse<float>>(data.x);
  EXPECT_EQ(x.rows, 3);
  EXPECT_EQ(x.cols, 7);
  EXPECT_THAT(x.row(0).columns, ElementsAre(0, 4));
  EXPECT_TRUE(x.row(1).values.empty());
  EXPECT_THAT(x.row(2).values, ElementsAre(3));
  EXPECT_TRUE(data.mapped);
}

TEST(SafetensorsData, ForeignSparseHasTheColumnsItNeeds) {
  const SparseFile file;
  EXPECT_EQ(cols(read(file_of(file.tensors())).x), 5);
}

TEST(SafetensorsData, SparseRowsThatLeadOutOfBoundsAreErrors) {
  const auto starts = [](std::vector<std::int64_t> row_start) {
    SparseFile file;
    file.row_start = std::move(row_start);
    return file.error();
  };
  EXPECT_THAT(starts({1, 2, 2, 3}), HasSubstr("row_start runs from 1 to 3, expected 0 to 3"));
  EXPECT_THAT(starts({0, 2, 2, 4}), HasSubstr("row_start runs from 0 to 4, expected 0 to 3"));
  EXPECT_THAT(starts({0, 2, 1, 3}),
              HasSubstr("row 1 (counted from 0): row_start goes from 2 to 1"));
  EXPECT_THAT(starts({0, INT64_MAX, 2, 3}), HasSubstr("row 0 (counted from 0)"));
  EXPECT_THAT(starts({0, -1, 2, 3}), HasSubstr("row 0 (counted from 0)"));
  EXPECT_THAT(starts({0}), HasSubstr("for at least one row"));
  EXPECT_THAT(starts({0, 3}),
              HasSubstr("row 0 (counted from 0): column 2 where more than 4 was expected"));
}

TEST(SafetensorsData, SparseColumnsMustRiseWithinTheWidth) {
  const auto columns = [](std::vector<std::int32_t> column) {
    SparseFile file;
    file.columns = std::move(column);
    return file.error();
  };
  EXPECT_THAT(columns({-1, 4, 2}), HasSubstr("column -1 where more than -1 was expected"));
  EXPECT_THAT(columns({4, 4, 2}), HasSubstr("column 4 where more than 4 was expected"));
  EXPECT_THAT(columns({0, 4, 7}), HasSubstr("metadata cols = 7, but columns reach 7"));
  EXPECT_THAT(columns({0, 4}),
              HasSubstr("tensor 'values' must be F32 or F64 [entries], as many as columns"));
}

TEST(SafetensorsData, SparseNeedsItsThreeTensors) {
  const SparseFile file;
  for (const std::string name : {"columns", "values"}) {
    auto tensors = file.tensors();
    tensors.erase(name);
    EXPECT_EQ(error_in(tensors),
              "a: sparse data needs the tensors row_start, columns and values; '" + name +
                  "' is missing");
  }
}

}  // namespace
}  // namespace meanwhile::data
