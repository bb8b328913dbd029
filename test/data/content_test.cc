// The promise of the deal by content: a function of the weighted multiset of rows alone.
#include "meanwhile/data/content.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "meanwhile/data/exact_sum.h"
#include "meanwhile/data/files/content_spool.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

struct Row {
  std::vector<double> values;
  double label = 0, weight = 1;
};

// `zeros`: whether a sparse row stores its zeros.
template <class T>
Dataset dense(const std::vector<Row>& rows, bool weighted = true) {
  Dataset data;
  const std::size_t cols = rows.empty() ? 3 : rows.front().values.size();
  base::Buffer<T> values(rows.size() * cols);
  base::Buffer<double> labels(rows.size()), weights(weighted ? rows.size() : 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < cols; ++j) values[i * cols + j] = static_cast<T>(rows[i].values[j]);
    labels[i] = rows[i].label;
    if (weighted) weights[i] = rows[i].weight;
  }
  data.x = Dense<T>{own(data, std::move(values)).data(), std::ssize(rows),
                    static_cast<std::int64_t>(cols)};
  data.labels = own(data, std::move(labels));
  data.weights = own(data, std::move(weights));
  return data;
}

template <class T>
Dataset sparse(const std::vector<Row>& rows, bool zeros) {
  Dataset data = dense<T>(rows);
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  for (const Row& row : rows) {
    for (std::size_t j = 0; j < row.values.size(); ++j) {
      if (row.values[j] == 0 && !zeros) continue;
      columns.push_back(static_cast<std::int32_t>(j));
      values.push_back(static_cast<T>(row.values[j]));
    }
    starts.push_back(std::ssize(values));
  }
  const auto owned = [&]<class V>(const std::vector<V>& from) {
    base::Buffer<V> to(from.size());
    std::copy(from.begin(), from.end(), to.begin());
    return own(data, std::move(to)).data();
  };
  const auto* start = owned(starts);
  const auto* column = owned(columns);
  data.x = Sparse<T>{start, column, owned(values), std::ssize(rows), cols(data.x)};
  return data;
}

// Rows with many equal ones among them.
std::vector<Row> some_rows(int count) {
  std::mt19937_64 random(5);
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    const auto draw = [&](int below) {
      return static_cast<double>(random() % static_cast<unsigned>(below));
    };
    rows.push_back({{draw(4) / 8, draw(3) - 1, draw(5)}, draw(2), 1 + draw(3) / 4});
  }
  return rows;
}

// All that a learner sees of a part, as text.
std::string seen(const Part& part) {
  std::string text =
      part.sha256 + fmt::format(" {} {} {}\n", part.rows, part.stored, part.weighted);
  for (const double label : part.label_values) text += fmt::format("label {}\n", label);
  for (const Shard& shard : part.shards) {
    text += fmt::format("shard {}: {}\n", shard.index, shard.rows);
    for (const RowRange& block : shard.blocks) {
      for (std::int64_t row = block.begin; row < block.end; ++row) {
        std::visit(
            [&](const auto& m) {
              if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
                const auto entries = m.row(row);
                for (std::size_t k = 0; k < entries.values.size(); ++k) {
                  text += fmt::format("{}:{:a} ", entries.columns[k], entries.values[k]);
                }
              } else {
                for (const auto value : m.row(row)) text += fmt::format("{:a} ", value);
              }
            },
            part.data.x);
        const auto i = static_cast<std::size_t>(row);
        text += fmt::format("label {:a} weight {:a}\n", part.data.labels[i],
                            part.data.weights.empty() ? 1.0 : part.data.weights[i]);
      }
    }
  }
  return text;
}

ContentDeal to(int shards, bool merge = true) { return {shards, 7, merge}; }

TEST(Content, DependsNeitherOnTheOrderOfRowsNorOnThreads) {
  std::vector<Row> rows = some_rows(3000);
  const std::string first = seen(whole_by_content(dense<float>(rows), to(5), 1));
  std::mt19937_64 random(1);
  for (int threads = 1; threads <= 3; ++threads) {
    std::shuffle(rows.begin(), rows.end(), random);
    EXPECT_EQ(seen(whole_by_content(dense<float>(rows), to(5), threads)), first);
  }
  EXPECT_NE(seen(whole_by_content(dense<float>(rows), to(4), 1)), first);
}

TEST(Content, AWeightOfTwoIsTheRowTwice) {
  std::vector<Row> rows = some_rows(500), twice;
  for (Row& row : rows) {
    twice.push_back({row.values, row.label, row.weight});
    twice.push_back({row.values, row.label, row.weight});
    row.weight *= 2;
  }
  EXPECT_EQ(seen(whole_by_content(dense<double>(rows), to(3), 1)),
            seen(whole_by_content(dense<double>(twice), to(3), 1)));
}

TEST(Content, EqualRowsAreOneWithTheirWeightsAdded) {
  const std::vector<Row> rows = {{{1, 2}, 1, 0.5}, {{3, 4}, 1, 1}, {{1, 2}, 1, 2}, {{1, 2}, 0, 1}};
  const Part part = whole_by_content(dense<float>(rows), to(1), 1);
  EXPECT_EQ(part.rows, 3);
  EXPECT_EQ(part.read_rows, 4);
  EXPECT_TRUE(part.weighted);
  std::multiset<double> weights(part.data.weights.begin(), part.data.weights.end());
  EXPECT_EQ(weights, (std::multiset<double>{1, 1, 2.5}));
  const Part apart = whole_by_content(dense<float>(rows), to(1, false), 1);
  EXPECT_EQ(apart.rows, 4);
  weights = {apart.data.weights.begin(), apart.data.weights.end()};
  EXPECT_EQ(weights, (std::multiset<double>{0.5, 1, 1, 2}));
}

TEST(Content, AWeightOfZeroIsNoRow) {
  std::vector<Row> rows = some_rows(400);
  const std::string without = seen(whole_by_content(dense<float>(rows), to(4), 1));
  rows.push_back({{9, 9, 9}, 5, 0});  // its label is no class either
  rows.insert(rows.begin(), {rows.front().values, 1, 0});
  EXPECT_EQ(seen(whole_by_content(dense<float>(rows), to(4), 1)), without);
}

TEST(Content, WeightsOfOneAreNone) {
  std::vector<Row> rows;
  for (int i = 0; i < 100; ++i) rows.push_back({{static_cast<double>(i), 1}, 0, 1});
  const Part weighted = whole_by_content(dense<float>(rows), to(4), 1);
  const Part plain = whole_by_content(dense<float>(rows, false), to(4), 1);
  EXPECT_FALSE(weighted.weighted);
  EXPECT_TRUE(weighted.data.weights.empty());
  EXPECT_EQ(seen(weighted), seen(plain));
}

TEST(Content, ZerosHaveOneSignAndAreNotStored) {
  const std::vector<Row> plus = {{{0, 2}, 0, 1}, {{0, 0}, 0, 1}};
  const std::vector<Row> minus = {{{-0.0, 2}, -0.0, 1}, {{0, -0.0}, 0, 1}};
  EXPECT_EQ(seen(whole_by_content(dense<float>(plus), to(2), 1)),
            seen(whole_by_content(dense<float>(minus), to(2), 1)));
  const std::string left_out = seen(whole_by_content(sparse<float>(plus, false), to(2), 1));
  EXPECT_EQ(seen(whole_by_content(sparse<float>(plus, true), to(2), 1)), left_out);
  EXPECT_EQ(seen(whole_by_content(sparse<float>(minus, true), to(2), 1)), left_out);
}

TEST(Content, TheKeyIsThatOfTheNumbers) {
  const std::vector<Row> rows = some_rows(200);
  const Dataset all[] = {dense<float>(rows), dense<double>(rows), sparse<float>(rows, false),
                         sparse<double>(rows, true)};
  for (const Dataset& data : all) {
    ContentKeys keys(data, 3), expected(all[0], 3);
    for (std::int64_t row = 0; row < 200; ++row) ASSERT_EQ(keys(row), expected(row)) << row;
  }
  ContentKeys keys(all[0], 3), others(all[0], 4);
  EXPECT_NE(keys(0), others(0));
}

// Keys are part of the promise: another machine, or a later version, deals the same way.
TEST(Content, KeysStayWhatTheyAre) {
  const Dataset data = dense<float>({{{1, 0, -2.5}, 3, 1}, {{0, 0, 0}, 0, 1}});
  ContentKeys keys(data, 42);
  EXPECT_EQ(fmt::format("{:016x}{:016x}", keys(0).high, keys(0).low),
            "c76a35b5b0f6283899dfa4abdc10479a");
  EXPECT_EQ(fmt::format("{:016x}{:016x}", keys(1).high, keys(1).low),
            "2cfa9c76b30022aed642fe262db8476f");
}

TEST(Content, RowsAreOrderedByWhatTheyHold) {
  const std::vector<Row> rows = {{{1, 0}, 0, 1}, {{1, 0}, 0, 5}, {{1, 2}, 0, 1},
                                 {{0, 2}, 0, 1}, {{1, 0}, 1, 1}, {{-1, 0}, 0, 1}};
  for (const Dataset& data : {dense<float>(rows), sparse<double>(rows, true)}) {
    for (std::int64_t a = 0; a < 6; ++a) {
      for (std::int64_t b = 0; b < 6; ++b) {
        const auto order = compare_rows(data, a, b);
        EXPECT_EQ(order == 0, (a < 2 && b < 2) || a == b) << a << " " << b;
        EXPECT_TRUE((order < 0) == (compare_rows(data, b, a) > 0)) << a << " " << b;
      }
    }
  }
}

TEST(Content, TheSizeSaysHowManyShards) {
  const Part part = whole_by_content(dense<float>(some_rows(50)), to(0), 1);
  EXPECT_EQ(part.shards.size(), 8u);
}

TEST(Content, NoRowsAndNoWeight) {
  EXPECT_EQ(whole_by_content(dense<float>({}), to(3), 2).rows, 0);
  EXPECT_EQ(whole_by_content(dense<float>({{{1, 2}, 0, 0}}), to(3), 2).rows, 0);
}

// A limit of one byte has as many buckets as there may be.
TEST(Content, OnDiskItIsTheSame) {
  const TemporaryFolder folder;
  for (const Dataset& data :
       {dense<float>(some_rows(900)), dense<double>(some_rows(900)),
        sparse<float>(some_rows(900), true), sparse<double>(some_rows(900), false)}) {
    for (const bool merge : {true, false}) {
      for (const int shards : {0, 3}) {
        const std::string in_memory = seen(whole_by_content(data, to(shards, merge), 1));
        for (const std::int64_t bytes : {1, 2000, 20'000}) {
          const ContentMemory memory{bytes, folder.path()};
          const Part part = part_of(deal_within(data, to(shards, merge), memory, 2), true, 1);
          EXPECT_TRUE(part.data.mapped) << bytes;
          EXPECT_EQ(part.read_rows, 900);
          EXPECT_EQ(seen(part), in_memory) << bytes;
        }
        EXPECT_FALSE(deal_within(data, to(shards, merge), {1 << 20, folder.path()}, 2).data.mapped);
      }
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  // No row is left of these.
  const Dataset nothing = dense<float>({{{1, 2}, 0, 0}});
  EXPECT_EQ(part_of(deal_within(nothing, to(2), {1, folder.path()}, 2), true, 1).rows, 0);
}

TEST(Content, WeightsThatAddUpToTooMuchAreRefused) {
  const double most = std::numeric_limits<double>::max();
  const std::string message = input_error_of([&] {
    whole_by_content(dense<float>({{{1}, 0, most}, {{1}, 0, most}}), to(1), 1);
  });
  EXPECT_THAT(message, testing::HasSubstr("the weights of 2 equal rows, of which row 0"));
}

TEST(Content, DistinctKeysCountRowsOfPositiveWeight) {
  const std::vector<Row> rows = {{{1}, 0, 1}, {{1}, 0, 2}, {{2}, 0, 0}, {{3}, 0, 1}, {{3}, 1, 1}};
  const Dataset data = dense<float>(rows);
  EXPECT_EQ(distinct_keys(data, {0, 5}, 1).size(), 3u);
  EXPECT_EQ(distinct_keys(data, {1, 3}, 1).size(), 1u);
  std::vector<Row> many;
  for (std::int64_t i = 0; i < 3 * kSmallRows; ++i) many.push_back({{static_cast<double>(i / 2)}});
  const Dataset large = dense<double>(many);
  EXPECT_GT(std::ssize(distinct_keys(large, {0, 3 * kSmallRows}, 2)), kSmallRows);
  EXPECT_EQ(std::ssize(distinct_keys(large, {0, 2 * kSmallRows}, 2)), kSmallRows);
}

TEST(ExactSum, IsTheSameInEveryOrder) {
  std::mt19937_64 random(2);
  std::vector<double> terms;
  for (int i = 0; i < 200; ++i) {
    terms.push_back(
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 200) - 100));
  }
  std::set<double> sums;
  for (int i = 0; i < 50; ++i) {
    ExactSum sum;
    for (const double term : terms) sum.add(term);
    sums.insert(sum.rounded());
    std::shuffle(terms.begin(), terms.end(), random);
  }
  EXPECT_EQ(sums.size(), 1u);
}

TEST(ExactSum, IsRoundedOnce) {
  const auto sum_of = [](const std::vector<double>& terms) {
    ExactSum sum;
    for (const double term : terms) sum.add(term);
    return sum.rounded();
  };
  EXPECT_EQ(sum_of({}), 0.0);
  EXPECT_EQ(sum_of(std::vector<double>(10, 0.1)), 1.0);  // 0.1 + ... + 0.1 is not
  const double tie = 0x1p-53;
  EXPECT_EQ(sum_of({1, tie}), 1.0);
  EXPECT_EQ(sum_of({1, tie, 0x1p-106}), 1 + 0x1p-52);
  EXPECT_EQ(sum_of({0x1p-106, tie, 1}), 1 + 0x1p-52);
}

}  // namespace
}  // namespace meanwhile::data
