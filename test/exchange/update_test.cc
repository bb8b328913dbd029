#include "meanwhile/exchange/update.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/exchange/sum.h"
#include "test/expect_error.h"

namespace meanwhile::exchange {
namespace {

using Rows = std::vector<std::int64_t>;

Rows rows_of(const Update& update, int block) {
  const auto rows = update.touched(block);
  return {rows.begin(), rows.end()};
}

// All values of a block; rows that are absent are the identity.
template <class T>
std::vector<T> values_of(const Update& update, int block = 0) {
  const Block& shape = update.shape()[static_cast<std::size_t>(block)];
  std::vector<T> all;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t j = 0; j < shape.width; ++j) {
      all.push_back(update.is_touched(block, row)
                        ? update.row<T>(block, row)[static_cast<std::size_t>(j)]
                        : identity<T>(shape.combine));
    }
  }
  return all;
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

TEST(Update, OfDenseBlocksBeginsWithTheIdentity) {
  Update update(UpdateShape{{.rows = 2, .width = 3},
                            {.rows = 4, .element = Element::kFloat32, .combine = Combine::kMin},
                            {.rows = 1, .element = Element::kInt64, .combine = Combine::kMin}});
  EXPECT_EQ(values_of<double>(update, 0), std::vector<double>(6, 0.0));
  EXPECT_EQ(values_of<float>(update, 1),
            std::vector<float>(4, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(values_of<std::int64_t>(update, 2),
            std::vector<std::int64_t>(1, std::numeric_limits<std::int64_t>::max()));
}

TEST(Update, LaysNeighbouringDenseBlocksOfOneTypeEndToEnd) {
  Update update(
      UpdateShape{{.rows = 2, .width = 3}, {.rows = 2}, {.rows = 9, .sparse = true}, {.rows = 1}});
  EXPECT_EQ(update.runs().size(), 3u);
  EXPECT_EQ(update.dense<double>(0).data() + 6, update.dense<double>(1).data());
}

TEST(Update, HoldsTouchedRowsOnlyUntilItIsCleared) {
  Update update(UpdateShape{{.rows = 1000, .width = 2, .sparse = true}});
  update.touch<double>(0, 900)[1] = 5;
  update.touch<double>(0, 3)[0] = 4;
  update.touch<double>(0, 900)[1] += 1;
  update.settle();
  EXPECT_EQ(rows_of(update, 0), (Rows{3, 900}));
  EXPECT_EQ(update.row<double>(0, 900)[0], 0);
  EXPECT_EQ(update.row<double>(0, 900)[1], 6);
  EXPECT_EQ(update.bytes(), 2 * 2 * sizeof(double));
  update.clear();
  EXPECT_EQ(rows_of(update, 0), Rows());
  EXPECT_FALSE(update.is_touched(0, 900));
  EXPECT_EQ(update.touch<double>(0, 900)[1], 0) << "a row is the identity when it is touched first";
}

TEST(Update, KeepsAnIntegerRowOfTheMinimumAtItsIdentityUntilItIsWritten) {
  Update update(
      {{.rows = 10, .element = Element::kInt64, .combine = Combine::kMin, .sparse = true}});
  EXPECT_EQ(update.touch<std::int64_t>(0, 4)[0], std::numeric_limits<std::int64_t>::max());
}

TEST(Update, BecomesFullByTheRuleAlone) {
  EXPECT_FALSE(becomes_full(1000, 1, 45));
  EXPECT_TRUE(becomes_full(1000, 1, 46));
  EXPECT_FALSE(becomes_full(1000, 100, 454));
  EXPECT_TRUE(becomes_full(1000, 100, 455));
  EXPECT_FALSE(becomes_full(0, 1, 0));
  for (const std::int64_t touched : {5, 6, 64, 130}) {
    Update update(UpdateShape{{.rows = 130, .sparse = true}});
    for (std::int64_t row = touched; row-- > 0;) update.touch<double>(0, row)[0] = 7;
    update.settle();
    const bool full = touched > 5;
    EXPECT_EQ(update.is_full(0), full);
    EXPECT_EQ(update.touched(0).size(), full ? 130u : static_cast<std::size_t>(touched));
    for (std::int64_t row = 0; row < 130; ++row) {
      ASSERT_EQ(update.is_touched(0, row), full || row < touched);
      if (update.is_touched(0, row)) {
        ASSERT_EQ(update.row<double>(0, row)[0], row < touched ? 7 : 0);
      }
    }
    update.clear();
    EXPECT_EQ(rows_of(update, 0), Rows());
    EXPECT_FALSE(update.is_touched(0, 0));
  }
}

TEST(Update, TakesAnotherShapeCleared) {
  Update update(UpdateShape{{.rows = 100, .sparse = true}});
  update.touch<double>(0, 50)[0] = 1;
  update.reshape({{.rows = 5}, {.rows = 300, .element = Element::kFloat32, .sparse = true}});
  EXPECT_EQ(values_of<double>(update, 0), std::vector<double>(5, 0.0));
  EXPECT_EQ(rows_of(update, 1), Rows());
  update.touch<float>(1, 250)[0] = 1;
  update.reshape({{.rows = 100, .sparse = true}});
  EXPECT_FALSE(update.is_touched(0, 50));
}

TEST(Update, IsCopiedWithItsTouchedRows) {
  Update update(UpdateShape{{.rows = 2}, {.rows = 300, .width = 2, .sparse = true}});
  update.dense<double>(0)[1] = 3;
  update.touch<double>(1, 7)[1] = 4;
  Update copy = update;
  update.touch<double>(1, 7)[1] = 5;
  EXPECT_EQ(copy.dense<double>(0)[1], 3);
  EXPECT_EQ(copy.row<double>(1, 7)[1], 4);
  EXPECT_EQ(rows_of(copy, 1), (Rows{7}));
}

TEST(Update, RefusesRowsThatAreLongerThanAMessage) {
  EXPECT_THAT(error_of(base::ErrorKind::kUsage,
                       [] { Update(UpdateShape{{.rows = 2, .width = 40000, .sparse = true}}); }),
              testing::HasSubstr("320000 bytes"));
  EXPECT_NO_THROW(Update(UpdateShape{{.rows = 2, .width = 40000}}));
}

TEST(Update, SaysItsShape) {
  EXPECT_EQ(text_of({{.rows = 10}, {5, 2, Element::kInt64, Combine::kMin, true}}),
            "10 x 1 float64 add; 5 x 2 int64 min sparse");
}

TEST(Add, TurnsMinusZeroIntoPlusZeroWhereARowIsAbsent) {
  const UpdateShape shape = {{.rows = 100, .sparse = true}};
  for (const bool left : {true, false}) {
    Update a(shape), b(shape);
    (left ? a : b).touch<double>(0, 3)[0] = -0.0;
    a.add(b);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a.row<double>(0, 3)[0]), 0u);
    EXPECT_EQ(rows_of(a, 0), (Rows{3}));
  }
}

TEST(Add, OfIntegersIsExactAndRefusesToOverflow) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const bool sparse : {false, true}) {
    const UpdateShape shape = {{.rows = 9, .element = Element::kInt64, .sparse = sparse}};
    Update a(shape), b(shape);
    a.touch<std::int64_t>(0, 4)[0] = most - 3;
    b.touch<std::int64_t>(0, 4)[0] = 3;
    a.add(b);
    EXPECT_EQ(a.row<std::int64_t>(0, 4)[0], most);
    EXPECT_THAT(error_of(base::ErrorKind::kFailed, [&] { a.add(b); }),
                testing::HasSubstr("exceeds 64 bits"));
  }
}

TEST(Minimum, DoesNotDependOnTheOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = 1 / 0.0;
  const std::vector<double> numbers = {-inf, -1.5, -0.0, 0.0, 2, inf, nan, -nan};
  for (const double a : numbers) {
    for (const double b : numbers) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(minimum(a, b)),
                std::bit_cast<std::uint64_t>(minimum(b, a)));
      EXPECT_TRUE(!std::isnan(a) || std::isnan(minimum(a, b)));
    }
  }
  EXPECT_TRUE(std::signbit(minimum(0.0, -0.0)));
}

// A number without a pattern; some are -0.0 or NaN.
template <class T>
T number(const base::Random& random, std::uint64_t i) {
  if constexpr (std::is_floating_point_v<T>) {
    if (random.below(3 * i, 20) == 0) return T{-0.0};
    if (random.below(3 * i, 20) == 1) return std::numeric_limits<T>::quiet_NaN();
  }
  return static_cast<T>((random.uniform(3 * i + 1) - 0.5) *
                        static_cast<double>(1 << random.below(3 * i + 2, 30)));
}

template <class T>
void expect_sparse_is_dense(Combine how, int shards, std::int64_t width, double touched) {
  const std::int64_t rows = 90;
  const Block dense{rows, width, kElementOf<T>, how, false},
      sparse{rows, width, kElementOf<T>, how, true};
  OrderedSum dense_sum(shards, {dense}), sparse_sum(shards, {sparse});
  for (int shard = 0; shard < shards; ++shard) {
    const base::Random random(5, base::Purpose::kUser, static_cast<std::uint32_t>(shard), 0);
    Update a = dense_sum.take(), b = sparse_sum.take();
    for (std::int64_t row = rows; row-- > 0;) {
      const auto i = static_cast<std::uint64_t>(row);
      // Half of the rows are met by shard 0 alone.
      if (random.uniform(1'000'000 + i) >= (row % 2 == 0 || shard == 0 ? touched : 0)) continue;
      for (std::int64_t j = 0; j < width; ++j) {
        const T value = number<T>(random, i * 10 + static_cast<std::uint64_t>(j));
        a.touch<T>(0, row)[static_cast<std::size_t>(j)] = value;
        b.touch<T>(0, row)[static_cast<std::size_t>(j)] = value;
      }
    }
    dense_sum.give(shard, std::move(a));
    sparse_sum.give(shard, std::move(b));
  }
  SCOPED_TRACE(fmt::format("{}, {} shards, {} touched", text_of({sparse}), shards, touched));
  expect_same_bits(values_of<T>(dense_sum.total()), values_of<T>(sparse_sum.total()));
}

TEST(OrderedSum, OfSparseBlocksHasTheBitsOfDenseOnes) {
  for (const int shards : {1, 2, 3, 5, 8, 13}) {
    for (const Combine how : {Combine::kAdd, Combine::kMin}) {
      for (const std::int64_t width : {1, 4}) {
        for (const double touched : {0.0, 0.05, 0.3, 0.6, 1.0}) {
          expect_sparse_is_dense<double>(how, shards, width, touched);
          expect_sparse_is_dense<float>(how, shards, width, touched);
          expect_sparse_is_dense<std::int64_t>(how, shards, width, touched);
        }
      }
    }
  }
}

}  // namespace
}  // namespace meanwhile::exchange
