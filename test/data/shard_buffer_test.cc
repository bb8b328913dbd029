#include "meanwhile/data/shard_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/safetensors_data.h"
#include "meanwhile/data/part.h"

namespace meanwhile::data {
namespace {

struct Shape {
  std::int64_t rows, cols;
  bool sparse, float64, labelled, weighted;
};

template <class T>
Dataset made(const Shape& shape) {
  Dataset data;
  base::Buffer<T> values;
  base::Buffer<std::int32_t> columns;
  base::Buffer<std::int64_t> starts(static_cast<std::size_t>(shape.rows) + 1);
  const auto value = [](std::int64_t i, std::int64_t j) {
    return static_cast<T>((i * 31 + j * 7) % 1009) / static_cast<T>(8) + static_cast<T>(0.1);
  };
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.cols; ++j) {
      // Some rows are empty.
      if (shape.sparse && (i % 5 == 3 || (i + j) % 3 == 0)) continue;
      values.resize(values.size() + 1);
      values[values.size() - 1] = value(i, j);
      columns.resize(columns.size() + 1);
      columns[columns.size() - 1] = static_cast<std::int32_t>(j);
    }
    starts[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(values.size());
  }
  const auto values_view = own(data, std::move(values));
  if (shape.sparse) {
    const auto starts_view = own(data, std::move(starts));
    const auto columns_view = own(data, std::move(columns));
    data.x = Sparse<T>{starts_view.data(), columns_view.data(), values_view.data(), shape.rows,
                       shape.cols};
  } else {
    data.x = Dense<T>{values_view.data(), shape.rows, shape.cols};
  }
  const auto numbers = [&](double factor) {
    base::Buffer<double> column(static_cast<std::size_t>(shape.rows));
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<double>(i % 7) * factor;
    return own(data, std::move(column));
  };
  if (shape.labelled) data.labels = numbers(1);
  if (shape.weighted) data.weights = numbers(0.25);
  data.class_names = {"a", "b", "c", "d", "e", "f", "g"};
  return data;
}

Dataset made_of(const Shape& shape) {
  return shape.float64 ? made<double>(shape) : made<float>(shape);
}

std::vector<Shape> shapes(std::int64_t rows) {
  std::vector<Shape> all;
  for (int bits = 0; bits < 16; ++bits) {
    all.push_back({rows, 5, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0});
  }
  return all;
}

// Row `i` of a part, with label and weight, as bytes: equal rows have equal bytes.
std::string row_bytes(const Dataset& data, std::int64_t i) {
  std::string bytes;
  const auto add = [&](const auto* values, std::int64_t count) {
    bytes.append(reinterpret_cast<const char*>(values),
                 static_cast<std::size_t>(count) * sizeof *values);
    bytes += '|';
  };
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (kIsSparse<M>) {
          const std::int64_t begin = m.row_start[i], count = m.row_start[i + 1] - begin;
          add(m.columns + begin, count);
          add(m.values + begin, count);
        } else {
          add(m.row(i).data(), m.cols);
        }
      },
      data.x);
  if (!data.labels.empty()) add(&data.labels[static_cast<std::size_t>(i)], 1);
  if (!data.weights.empty()) add(&data.weights[static_cast<std::size_t>(i)], 1);
  return bytes;
}

// A shard as a learner sees it: its blocks, and the rows of each.
std::vector<std::vector<std::string>> seen(const Part& part, int shard) {
  std::vector<std::vector<std::string>> blocks;
  for (const RowRange& block : part.shards[static_cast<std::size_t>(shard)].blocks) {
    std::vector<std::string>& rows = blocks.emplace_back();
    for (std::int64_t i = block.begin; i < block.end; ++i) rows.push_back(row_bytes(part.data, i));
  }
  return blocks;
}

void fill(ShardBuffer& buffer, const Part& whole, int shard) {
  buffer.fill(shard, shard_file(whole.data, whole.shards[static_cast<std::size_t>(shard)]).rows);
}

void expect_same(const Part& part, const Part& whole, const std::set<int>& here) {
  ASSERT_EQ(part.shards.size(), whole.shards.size());
  for (const Shard& shard : whole.shards) {
    const Shard& other = part.shards[static_cast<std::size_t>(shard.index)];
    EXPECT_EQ(other.index, shard.index);
    EXPECT_EQ(other.rows, shard.rows);
    if (here.count(shard.index) == 0) {
      EXPECT_TRUE(other.blocks.empty());
    } else {
      EXPECT_EQ(seen(part, shard.index), seen(whole, shard.index)) << "shard " << shard.index;
    }
  }
  EXPECT_EQ(part.rows, whole.rows);
  EXPECT_EQ(part.stored, whole.stored);
  EXPECT_EQ(part.labelled, whole.labelled);
  EXPECT_EQ(part.weighted, whole.weighted);
  EXPECT_EQ(part.sha256, whole.sha256);
  EXPECT_EQ(part.label_values, whole.label_values);
  EXPECT_EQ(part.data.class_names, whole.data.class_names);
  EXPECT_EQ(cols(part.data.x), cols(whole.data.x));
}

TEST(ShardBuffer, GivesALearnerTheRowsAndBlocksOfTheWhole) {
  for (const std::int64_t rows : {1, 40, 1000}) {
    for (const Shape& shape : shapes(rows)) {
      for (const int shards : {1, 3, 8}) {
        const Part whole = data::whole(made_of(shape), shards, 5, 1);
        ShardBuffer buffer(outline_of(whole));
        std::set<int> all;
        for (int shard = shards; shard-- > 0;) {  // the order does not matter
          if (whole.shards[static_cast<std::size_t>(shard)].rows > 0) fill(buffer, whole, shard);
          all.insert(shard);
        }
        for (const std::set<int>& some : {all, std::set<int>{}, std::set<int>{shards / 2}}) {
          expect_same(buffer.part(some), whole, some);
        }
      }
    }
  }
}

TEST(ShardBuffer, TakesRowsThatWentThroughAFile) {
  for (const Shape& shape : shapes(300)) {
    const Part whole = data::whole(made_of(shape), 4, 5, 1);
    ShardBuffer buffer(outline_of(whole));
    for (const Shard& shard : whole.shards) {
      const ShardFile file = shard_file(whole.data, shard);
      auto bytes = std::make_shared<const std::vector<std::byte>>(
          safetensors_bytes(file.tensors, file.metadata));
      buffer.fill(shard.index, read_safetensors(*bytes, "shard", bytes, false));
    }
    expect_same(buffer.part({0, 1, 2, 3}), whole, {0, 1, 2, 3});
  }
}

// Large enough that pages are given back; the neighbours keep theirs.
TEST(ShardBuffer, DropsAShardWithoutHarmToOthersAndTakesItAgain) {
  for (const Shape& shape : shapes(20'000)) {
    const Part whole = data::whole(made_of(shape), 5, 5, 1);
    ShardBuffer buffer(outline_of(whole));
    for (int shard = 0; shard < 5; ++shard) fill(buffer, whole, shard);
    for (const int gone : {2, 0, 4}) {
      buffer.drop(gone);
      std::set<int> others = {0, 1, 2, 3, 4};
      others.erase(gone);
      expect_same(buffer.part(others), whole, others);
      fill(buffer, whole, gone);
    }
    for (int shard = 0; shard < 5; ++shard) buffer.drop(shard);
    for (int shard = 0; shard < 5; ++shard) fill(buffer, whole, shard);
    expect_same(buffer.part({0, 1, 2, 3, 4}), whole, {0, 1, 2, 3, 4});
  }
}

TEST(ShardBuffer, MayBeFilledAndEmptiedByManyThreads) {
  const Part whole = data::whole(made_of({20'000, 5, true, false, true, true}), 8, 5, 1);
  ShardBuffer buffer(outline_of(whole));
  {
    std::vector<std::jthread> threads;
    for (int shard = 0; shard < 8; ++shard) {
      threads.emplace_back([&, shard] {
        for (int turn = 0; turn < 3; ++turn) {
          fill(buffer, whole, shard);
          buffer.drop(shard);
        }
        fill(buffer, whole, shard);
      });
    }
  }
  const std::set<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  expect_same(buffer.part(all), whole, all);
}

TEST(ShardBuffer, RefusesRowsThatAreNotWhatTheOutlineSays) {
  for (const Shape& shape : shapes(300)) {
    const Part whole = data::whole(made_of(shape), 3, 5, 1);
    const auto refused = [&](const Dataset& rows) {
      ShardBuffer buffer(outline_of(whole));
      try {
        buffer.fill(1, rows);
      } catch (const base::Error& e) {
        EXPECT_EQ(e.kind(), base::ErrorKind::kInput);
        EXPECT_THAT(e.what(), testing::HasSubstr("shard 1"));
        return true;
      }
      return false;
    };
    const auto other = [&](Shape changed) {
      const Part part = data::whole(made_of(changed), 3, 5, 1);
      return refused(shard_file(part.data, part.shards[1]).rows);
    };
    const Dataset right = shard_file(whole.data, whole.shards[1]).rows;
    EXPECT_FALSE(refused(right));
    Shape changed = shape;
    changed.rows = 200;
    EXPECT_TRUE(other(changed));
    (changed = shape).cols = 6;
    EXPECT_TRUE(other(changed));
    (changed = shape).sparse = !shape.sparse;
    EXPECT_TRUE(other(changed));
    (changed = shape).float64 = !shape.float64;
    EXPECT_TRUE(other(changed));
    (changed = shape).labelled = !shape.labelled;
    EXPECT_TRUE(other(changed));
    (changed = shape).weighted = !shape.weighted;
    EXPECT_TRUE(other(changed));
    for (std::span<const double> Dataset::*column : {&Dataset::labels, &Dataset::weights}) {
      if ((right.*column).empty()) continue;
      Dataset fewer = right;
      fewer.*column = (right.*column).first((right.*column).size() - 1);
      EXPECT_TRUE(refused(fewer));
    }
  }
}

TEST(ShardBuffer, TakesEmptyShards) {
  for (const Shape& shape : shapes(3)) {
    const Part whole = data::whole(made_of(shape), 8, 5, 1);
    ShardBuffer buffer(outline_of(whole));
    std::set<int> all;
    for (int shard = 0; shard < 8; ++shard) {
      fill(buffer, whole, shard);
      buffer.drop(shard);
      fill(buffer, whole, shard);
      all.insert(shard);
    }
    expect_same(buffer.part(all), whole, all);
  }
}

TEST(Outline, SaysWhatTheWholeHolds) {
  const Part whole = data::whole(made_of({1000, 5, true, true, true, false}), 7, 5, 1);
  const Outline outline = outline_of(whole);
  EXPECT_EQ(outline.rows(), 1000);
  EXPECT_EQ(outline.stored(), whole.stored);
  EXPECT_TRUE(outline.sparse && outline.float64 && outline.labelled && !outline.weighted);
  EXPECT_EQ(outline.cols, 5);
  EXPECT_EQ(outline.label_values, whole.label_values);
}

// An outline may come from a store: its numbers must not become places outside of memory.
TEST(ShardBuffer, RefusesAnOutlineThatCannotBe) {
  const auto refusal = [](const std::function<void(Outline&)>& change) -> std::string {
    Outline outline = outline_of(whole(made_of({600, 5, true, false, true, false}), 3, 7, 1));
    change(outline);
    try {
      const ShardBuffer buffer(outline);
    } catch (const base::Error& e) {
      EXPECT_EQ(e.kind(), base::ErrorKind::kInput);
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal([](Outline&) {}), "accepted");
  for (const std::int64_t x : {std::int64_t{700}, std::int64_t{100'000}, std::int64_t{1} << 62}) {
    EXPECT_THAT(refusal([&](Outline& o) {
                  o.shard_rows = {x, 400 - x, 200};
                }),
                testing::HasSubstr("the outline of the data: shard"));
    EXPECT_THAT(refusal([&](Outline& o) {
                  o.shard_stored = {x, -x, 0};
                }),
                testing::HasSubstr("the outline of the data: shard"));
  }
  EXPECT_THAT(refusal([](Outline& o) { o.shard_rows[0] = -1; }), testing::HasSubstr("-1 rows"));
  EXPECT_THAT(refusal([](Outline& o) { o.shard_rows.clear(); }), testing::HasSubstr("0 shards"));
  EXPECT_THAT(refusal([](Outline& o) { o.shard_stored.pop_back(); }),
              testing::HasSubstr("stored values of 2"));
  EXPECT_THAT(refusal([](Outline& o) { o.cols = -5; }), testing::HasSubstr("-5 columns"));
  EXPECT_THAT(refusal([](Outline& o) { o.label_values.push_back(7); }),
              testing::HasSubstr("label 7 of 7 classes"));
}

TEST(ShardBuffer, RefusesRowsThatLearnersCannotUse) {
  const Shape shape{600, 5, false, false, true, true};
  const Part part = whole(made_of(shape), 3, 7, 1);
  ShardBuffer buffer(outline_of(part));
  const ShardFile file = shard_file(part.data, part.shards[1]);
  const auto refusal = [&](const Dataset& rows) -> std::string {
    try {
      buffer.fill(1, rows);
    } catch (const base::Error& e) {
      EXPECT_EQ(e.kind(), base::ErrorKind::kInput);
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(file.rows), "accepted");
  std::vector<double> numbers(file.rows.labels.begin(), file.rows.labels.end());
  for (const double wrong : {7.0, -1.0, 0.5, std::nan(""), 1e300}) {
    Dataset rows = file.rows;
    numbers[3] = wrong;
    rows.labels = numbers;
    EXPECT_THAT(refusal(rows), testing::HasSubstr("labels")) << wrong;
  }
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    Dataset rows = file.rows;
    numbers.assign(numbers.size(), 1.0);
    numbers[3] = wrong;
    rows.weights = numbers;
    EXPECT_THAT(refusal(rows), testing::HasSubstr("weights")) << wrong;
  }
  const auto& x = std::get<Dense<float>>(file.rows.x);
  std::vector<float> values(x.values, x.values + x.rows * x.cols);
  values[8] = NAN;
  Dataset rows = file.rows;
  rows.x = Dense<float>{values.data(), x.rows, x.cols};
  EXPECT_THAT(refusal(rows), testing::HasSubstr("nan is not a finite number"));
}

}  // namespace
}  // namespace meanwhile::data
