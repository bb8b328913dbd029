#include "meanwhile/tables/courier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "meanwhile/tables/wanted_rows.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::tables {
namespace {

// Runs body(rank, transport) on workers that are threads; throws what one of them throws.
template <class Body>
void on_workers(int workers, const Body& body) {
  transport::ThreadGroup group(workers, 20);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(workers));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < workers; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(rank, workers == 1 ? nullptr : &group.member(rank));
        } catch (const base::Error& e) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
          group.member(rank).fail(e.kind(), e.what());
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

// jbosen's SSPDemo: every shard adds 1 to every counter in every clock. With no staleness a read at
// clock c sees c of each shard, whatever arrives when; in the end all counters are equal.
TEST(Courier, ReadsOfAClockSeeAllClocksBeforeIt) {
  constexpr int kShards = 6, kClocks = 8;
  const TableSet set({{.name = "counters", .rows = 500, .number = Number::kInt32}});
  for (const int workers : {1, 2, 3, 5}) {
    on_workers(workers, [&](int rank, transport::Transport* transport) {
      SliceStore store(set, rank, workers, {});
      Courier courier(transport, set, store);
      base::ThreadPool pool(1);
      const exchange::Range mine = exchange::owned(kShards, rank, workers);
      for (int clock = 0; clock < kClocks; ++clock) {
        std::mt19937 random(static_cast<unsigned>(100 * clock + rank));
        std::vector<Wants> wants(1, Wants(1));
        for (int i = 0; i < 40; ++i) wants[0].add(0, static_cast<std::int64_t>(random() % 500));
        wants[0].settle();
        const auto held = courier.fetch(wants);
        const View view(set.tables, *held);
        for (const std::int64_t row : wants[0].rows(0)) {
          ASSERT_EQ(view.row<std::int32_t>(0, row)[0], clock * kShards);
        }
        // In two pushes, shards in any order.
        std::vector<int> shards(static_cast<std::size_t>(mine.size()));
        std::iota(shards.begin(), shards.end(), mine.begin);
        std::shuffle(shards.begin(), shards.end(), random);
        for (std::size_t push = 0; push < 2; ++push) {
          std::vector<ShardDelta> added;
          for (std::size_t i = push; i < shards.size(); i += 2) {
            Delta delta(set.tables);
            for (std::int64_t row = 0; row < 500; ++row) delta.add<std::int32_t>(0, row, 0, 1);
            added.push_back({shards[i], delta.seal(set.slices)});
          }
          courier.push(std::move(added));
          // Nothing is seen before the clock ends.
          for (const std::int64_t row : wants[0].rows(0)) {
            ASSERT_EQ(view.row<std::int32_t>(0, row)[0], clock * kShards);
          }
        }
        store.apply(kShards, pool);
      }
      store.each([&](int table, int slice) {
        const auto content = store.read(table, slice);
        for (std::int64_t place = 0; place < set.slices[0].rows_of(slice); ++place) {
          const auto* const value =
              reinterpret_cast<const std::int32_t*>(content->row(place).values);
          EXPECT_EQ(*value, kShards * kClocks);
        }
      });
    });
  }
}

TEST(Courier, FetchesWhatThePlanSaysAndWhatIsKeptOnce) {
  const TableSet set({{.name = "t", .rows = 4000, .width = 5}});
  on_workers(2, [&](int rank, transport::Transport* transport) {
    SliceStore store(set, rank, 2, {});
    Courier courier(transport, set, store);
    base::ThreadPool pool(1);
    Delta delta(set.tables);
    for (std::int64_t row = rank; row < 4000; row += 2) {
      delta.add_row<std::int64_t>(0, row, std::vector<std::int64_t>{1, 2, 3, 4, row + 1});
    }
    courier.push({{rank, delta.seal(set.slices)}});
    store.apply(2, pool);

    Wants wants(1), some(1);
    std::int64_t others = 0, others_of_some = 0;
    for (std::int64_t row = 0; row < 4000; row += 3) {
      wants.add(0, row);
      const bool is_other = !store.owns(0, set.slices[0].slice_of(row));
      others += is_other;
      if (row % 2 != 0) continue;
      some.add(0, row);
      others_of_some += is_other;
    }
    wants.settle();
    some.settle();
    courier.clear_moved();
    courier.keep(some);
    EXPECT_EQ(courier.moved().rows_fetched, others_of_some);
    EXPECT_EQ(courier.moved().bytes_fetched, fetched_bytes(set.tables[0], others_of_some));
    const auto held = courier.fetch({&wants, 1});
    EXPECT_EQ(courier.moved().rows_fetched, others);
    EXPECT_EQ(courier.moved().bytes_fetched, fetched_bytes(set.tables[0], others));
    for (std::int64_t row = 0; row < 4000; row += 3) {
      ASSERT_EQ(View(set.tables, *held).row<std::int64_t>(0, row)[4], row + 1);
    }
  });
}

TEST(Courier, NamesARowThatTheTableDoesNotHave) {
  const TableSet set({{.name = "t", .rows = 10}});
  SliceStore store(set, 0, 1, {});
  Courier courier(nullptr, set, store);
  Wants wants(1);
  wants.add(0, 10);
  EXPECT_THROW(courier.fetch({&wants, 1}), base::Error);
}

}  // namespace
}  // namespace meanwhile::tables
