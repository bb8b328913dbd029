// Slices against tables of plain numbers: every number type, dense and sparse, whatever the order
// in which shards' changes arrive.
#include "meanwhile/tables/slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <vector>

#include "meanwhile/exchange/order.h"
#include "meanwhile/tables/slice_store.h"
#include "test/temporary_folder.h"

namespace meanwhile::tables {
// Tests print the name of a number.
void PrintTo(Number number, std::ostream* out) {
  constexpr const char* kNames[] = {"int32", "int64", "fixed", "float64"};
  *out << kNames[static_cast<std::size_t>(number)];
}

namespace {

constexpr int kShards = 7;
constexpr std::int64_t kRows = 300;
constexpr std::int32_t kWidth = 6;

Table table_of(Number number, bool sparse) { return {"t", kRows, kWidth, number, 1, sparse}; }

// The sum of a cell over shards, written down along the tree: an absent shard is +0.0.
double tree_sum(const std::vector<double>& of_shards, exchange::Range node) {
  if (node.size() == 1) return of_shards[static_cast<std::size_t>(node.begin)];
  const auto [left, right] = exchange::children(node);
  return tree_sum(of_shards, left) + tree_sum(of_shards, right);
}

class TablesOfAllKinds : public testing::TestWithParam<std::tuple<Number, bool>> {
 protected:
  Table table() const { return table_of(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

using Cells = std::vector<double>;  // of the whole table; all numbers used here are exact in double

void expect_cells(const SliceStore& store, const TableSet& set, const Cells& cells) {
  const Slices& slices = set.slices[0];
  store.each([&](int t, int slice) {
    const auto content = store.read(t, slice);
    for (std::int64_t place = 0; place < slices.rows_of(slice); ++place) {
      const std::int64_t row = slices.row_at(slice, place);
      const RowValues values = content ? content->row(place) : RowValues{};
      std::vector<double> found(kWidth, 0);
      with_number(set.tables[0].number, [&](auto zero) {
        const auto* const at = reinterpret_cast<const decltype(zero)*>(values.values);
        for (std::int32_t i = 0; i < values.count; ++i) {
          const std::int32_t column = values.columns == nullptr ? i : values.columns[i];
          found[static_cast<std::size_t>(column)] = static_cast<double>(at[i]);
          if (set.tables[0].sparse) {
            ASSERT_NE(at[i], zero) << "a zero is kept";
          }
        }
      });
      for (std::int32_t c = 0; c < kWidth; ++c) {
        ASSERT_EQ(found[static_cast<std::size_t>(c)],
                  cells[static_cast<std::size_t>(row * kWidth + c)])
            << "row " << row << ", column " << c;
      }
    }
  });
}

TEST_P(TablesOfAllKinds, AddUpAsPlainNumbersDoInAnyOrderOfArrival) {
  const Table table = this->table();
  const TableSet set({table});
  TemporaryFolder folder;
  for (const bool in_files : {false, true}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      std::mt19937 random(seed);
      base::ThreadPool pool(2);
      StoreOptions options;
      if (in_files) options = {2000, folder / "slices"};
      SliceStore store(set, 0, 1, options);
      Cells cells(static_cast<std::size_t>(kRows * kWidth), 0);
      for (int round = 0; round < 4; ++round) {
        std::vector<std::vector<double>> added(cells.size(), std::vector<double>(kShards, 0));
        struct Arrival {
          SealedDelta delta;
          int shard;
        };
        std::vector<Arrival> arrivals;
        for (int shard = 0; shard < kShards; ++shard) {
          Delta delta(set.tables);
          std::vector<Cells> whole_rows;
          for (int i = 0; i < 80; ++i) {
            const auto row = static_cast<std::int64_t>(random() % kRows);
            const auto column = static_cast<std::int32_t>(random() % kWidth);
            with_number(table.number, [&](auto zero) {
              using T = decltype(zero);
              auto by = static_cast<T>(static_cast<int>(random() % 7) - 3);
              if constexpr (std::is_same_v<T, double>) by /= 3;
              const auto at = static_cast<std::size_t>(row * kWidth + column);
              // Additions of one shard to a cell are added in the order of its calls.
              if (added[at][static_cast<std::size_t>(shard)] != 0) return;
              if (i % 5 == 0) {
                std::vector<T> whole(kWidth, T{0});
                whole[static_cast<std::size_t>(column)] = by;
                delta.add_row<T>(0, row, whole);
              } else {
                delta.add<T>(0, row, column, by);
              }
              added[at][static_cast<std::size_t>(shard)] = static_cast<double>(by);
            });
          }
          for (SealedDelta& sealed : delta.seal(set.slices)) {
            arrivals.push_back({std::move(sealed), shard});
          }
        }
        std::shuffle(arrivals.begin(), arrivals.end(), random);
        for (const Arrival& arrival : arrivals) {
          store.log(0, arrival.delta.slice, arrival.shard, arrival.delta.rows);
        }
        store.apply(kShards, pool);
        for (std::size_t i = 0; i < cells.size(); ++i) cells[i] += tree_sum(added[i], {0, kShards});
        expect_cells(store, set, cells);
      }
      if (in_files && !table.sparse) {
        EXPECT_GT(store.stored_bytes(), 0U);
      }
      EXPECT_LE(store.resident_bytes(), options.memory_bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, TablesOfAllKinds,
                         testing::Combine(testing::Values(Number::kInt32, Number::kInt64,
                                                          Number::kFixed, Number::kFloat64),
                                          testing::Bool()));

TEST(Slice, RefusesSumsThatAreTooLarge) {
  const TableSet set({table_of(Number::kInt32, false)});
  SliceStore store(set, 0, 1, {});
  base::ThreadPool pool(1);
  const auto add = [&] {
    Delta delta(set.tables);
    delta.add<std::int32_t>(0, 3, 1, 2'000'000'000);
    for (const SealedDelta& sealed : delta.seal(set.slices)) {
      store.log(0, sealed.slice, 0, sealed.rows);
    }
    store.apply(1, pool);
  };
  add();
  EXPECT_THROW(add(), base::Error);
}

TEST(Slice, RefusesBytesThatAreNoRows) {
  const TableSet set({table_of(Number::kInt64, false)});
  base::ThreadPool pool(1);
  Delta delta(set.tables);
  delta.add<std::int64_t>(0, 3, 1, 5);
  const auto sealed = delta.seal(set.slices);
  for (std::size_t size = 1; size < sealed[0].rows.size(); ++size) {
    SliceStore store(set, 0, 1, {});
    store.log(0, sealed[0].slice, 0, std::span(sealed[0].rows).first(size));
    EXPECT_THROW(store.apply(1, pool), base::Error) << size;
  }
  // A row of another slice.
  SliceStore store(set, 0, 1, {});
  store.log(0, (sealed[0].slice + 1) % set.slices[0].count(), 0, sealed[0].rows);
  EXPECT_THROW(store.apply(1, pool), base::Error);
}

TEST(TableSet, NamesWhatIsWrong) {
  EXPECT_THROW(TableSet({{.name = "a/b", .rows = 1}}), base::Error);
  EXPECT_THROW(TableSet({{.name = "a", .rows = 0}}), base::Error);
  EXPECT_THROW(TableSet({{.name = "a", .rows = 1, .grid = 0.3}}), base::Error);
}

}  // namespace
}  // namespace meanwhile::tables
