// Sums of rows at masters and mirrors: the bits of allreduce at every row that a worker needs.
#include "meanwhile/exchange/mirrors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "meanwhile/base/random.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::exchange {
namespace {

constexpr std::int64_t kRows = 97;

UpdateShape shape() {
  return {{.rows = kRows, .width = 3},
          {.rows = kRows, .element = Element::kInt64, .combine = Combine::kMin},
          {.rows = 5},
          {.rows = 2, .element = Element::kInt64}};
}

// The rows that a shard touches, about a third; row 0 of every shard.
bool touches(std::uint64_t seed, int shard, std::int64_t row) {
  const base::Random random(seed, base::Purpose::kUser, static_cast<std::uint32_t>(shard), 0);
  return row == 0 || random.uniform(static_cast<std::uint64_t>(row)) < 0.3;
}

void fill(std::uint64_t seed, int shard, Update& update) {
  const base::Random random(seed, base::Purpose::kUser, static_cast<std::uint32_t>(shard), 1);
  std::uint64_t drawn = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    if (!touches(seed, shard, row)) continue;
    for (double& value : update.touch<double>(0, row)) {
      value = random.below(drawn++, 5) == 0 ? -0.0 : std::exp(40 * random.uniform(drawn++) - 20);
    }
    update.touch<std::int64_t>(1, row)[0] = static_cast<std::int64_t>(random.below(drawn++, 1000));
  }
  for (double& value : update.dense<double>(2)) value = random.uniform(drawn++);
  for (std::int64_t& value : update.dense<std::int64_t>(3)) value = shard;
}

// Runs `body(rank)` on every worker.
void on_workers(int workers, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

void expect_sums_of_allreduce(int workers, int shards, std::uint64_t seed) {
  transport::ThreadGroup group(workers, 60);
  // Uneven shares of the rows; one worker may own none.
  std::vector<std::int64_t> first = {0};
  for (int w = 1; w < workers; ++w) first.push_back(kRows * w * w / (workers * workers));
  first.push_back(kRows);
  std::vector<Traffic> traffic(static_cast<std::size_t>(workers));
  on_workers(workers, [&](int rank) {
    transport::Transport& transport = group.member(rank);
    const Range mine = owned(shards, rank, workers);
    std::vector<std::int64_t> needed;
    for (std::int64_t row = 0; row < kRows; ++row) {
      bool any = false;
      for (int s = mine.begin; s < mine.end; ++s) any |= touches(seed, s, row);
      if (any) needed.push_back(row);
    }
    Mirrors mirrors(transport, shards, first, needed);
    for (std::uint64_t round = 0; round < 3; ++round) {
      OrderedSum sum(shards, mine, shape());
      for (int s = mine.begin; s < mine.end; ++s) {
        Update update = sum.take();
        // Later rounds touch the same rows.
        fill(seed, s, update);
        if (round > 0) update.dense<double>(2)[0] = static_cast<double>(round);
        sum.give(s, std::move(update));
      }
      Update expected(shape()), total(shape());
      allreduce(transport, shards, sum.partials(), expected);
      traffic[static_cast<std::size_t>(rank)] = mirrors.exchange(sum.partials(), 2, total);
      const auto own = std::pair{first[static_cast<std::size_t>(rank)],
                                 first[static_cast<std::size_t>(rank) + 1]};
      for (std::int64_t row = 0; row < kRows; ++row) {
        const bool is_needed = std::binary_search(needed.begin(), needed.end(), row);
        if (!is_needed && (row < own.first || row >= own.second)) continue;
        for (std::size_t i = 0; i < 3; ++i) {
          const double a = expected.row<double>(0, row)[i], b = total.row<double>(0, row)[i];
          EXPECT_EQ(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b))
              << row << " of " << workers << " workers, " << shards << " shards";
        }
        EXPECT_EQ(expected.row<std::int64_t>(1, row)[0], total.row<std::int64_t>(1, row)[0]);
      }
      for (const int block : {2, 3}) {
        const auto bytes = [block](const Update& update) {
          return block == 2 ? std::as_bytes(update.dense<double>(2))
                            : std::as_bytes(update.dense<std::int64_t>(3));
        };
        EXPECT_TRUE(std::ranges::equal(bytes(expected), bytes(total)));
      }
    }
  });
  for (const Traffic& some : traffic)
    EXPECT_TRUE(some.bytes > 0 || workers == 1 || shards < workers);
}

TEST(Mirrors, GiveTheSumsOfAllreduce) {
  for (const int workers : {1, 2, 3, 5, 8}) {
    for (const int shards : {1, 2, 3, 7, 8, 20}) {
      expect_sums_of_allreduce(workers, shards, static_cast<std::uint64_t>(shards));
    }
  }
}

TEST(Mirrors, SendTheRowsThatOthersNeed) {
  // Two workers that share one row of four: a part one way, a sum the other.
  transport::ThreadGroup group(2, 60);
  std::vector<Traffic> traffic(2);
  on_workers(2, [&](int rank) {
    const std::vector<std::int64_t> needed =
        rank == 0 ? std::vector<std::int64_t>{0, 1, 2} : std::vector<std::int64_t>{2, 3};
    Mirrors mirrors(group.member(rank), 2, {0, 2, 4}, needed);
    EXPECT_EQ(mirrors.mirrored(), rank == 0 ? 1 : 0);
    OrderedSum sum(2, owned(2, rank, 2), {{.rows = 4}, {.rows = 1}});
    Update update = sum.take();
    for (const std::int64_t row : needed) update.touch<double>(0, row)[0] = rank + 1;
    update.dense<double>(1)[0] = rank + 1;
    sum.give(rank, std::move(update));
    Update total(sum.shape());
    traffic[static_cast<std::size_t>(rank)] = mirrors.exchange(sum.partials(), 1, total);
    EXPECT_EQ(total.row<double>(0, 2)[0], 3);
    EXPECT_EQ(total.dense<double>(1)[0], 3);
  });
  EXPECT_EQ(traffic[0].bytes, 16);  // a row and the tail
  EXPECT_EQ(traffic[1].bytes, 16);  // the tail, and the sum of the row
  // The one link carries a row one way, then back, while the other direction has the tail alone.
  const Cost cost = mirrors_cost(8 * 4, 1.25, 0.25, 8, 2);
  EXPECT_EQ(cost.sent, 16);
  EXPECT_EQ(cost.bytes, 24);
}

}  // namespace
}  // namespace meanwhile::exchange
