#include "meanwhile/job/redistribute.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "meanwhile/transport/threads.h"

namespace meanwhile::job {
namespace {

// Row i of a sparse matrix has i % 4 entries i, i + 1, ... in columns 0, 1, ...
data::SomeRows rows_of(std::vector<data::RowRange> ranges, std::int64_t all) {
  data::SomeRows some;
  std::vector<std::int64_t> starts = {0};
  std::vector<double> entries, numbers;
  for (const data::RowRange& range : ranges) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      for (std::int64_t i = 0; i < row % 4; ++i) entries.push_back(static_cast<double>(row + i));
      starts.push_back(static_cast<std::int64_t>(entries.size()));
      numbers.push_back(static_cast<double>(row));
    }
  }
  base::Buffer<std::int64_t> row_start(starts.size());
  base::Buffer<std::int32_t> columns(entries.size());
  base::Buffer<double> values(entries.size()), labels(numbers.size()), weights(numbers.size());
  std::copy(starts.begin(), starts.end(), row_start.begin());
  std::copy(entries.begin(), entries.end(), values.begin());
  std::copy(numbers.begin(), numbers.end(), labels.begin());
  std::copy(numbers.begin(), numbers.end(), weights.begin());
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    for (std::int64_t i = starts[row]; i < starts[row + 1]; ++i) {
      columns[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i - starts[row]);
    }
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  const auto* start = own(some.data, std::move(row_start)).data();
  const auto* column = own(some.data, std::move(columns)).data();
  some.data.x =
      data::Sparse<double>{start, column, own(some.data, std::move(values)).data(), count, 3};
  some.data.labels = own(some.data, std::move(labels));
  some.data.weights = own(some.data, std::move(weights));
  some.rows = std::move(ranges);
  some.whole = {all, 0, true, true};
  return some;
}

// Steps of a few rows, so that there are many of them, and of different number on each worker.
TEST(Redistribute, JoinsBlocksThatSeveralWorkersReadInPart) {
  constexpr std::int64_t kRows = 5000;
  constexpr int kWorkers = 4;
  const std::vector<std::vector<data::RowRange>> read = {
      {{0, 100}, {300, 301}, {4000, 5000}}, {{100, 300}}, {}, {{301, 4000}}};
  const auto dealt = data::deal(kRows, 3, 1);  // one worker owns no shard
  for (const std::size_t step_bytes : {std::size_t{1}, std::size_t{700}, std::size_t{1} << 20}) {
    transport::ThreadGroup group(kWorkers, 60);
    std::vector<data::Dataset> got(kWorkers);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kWorkers; ++rank) {
      threads.emplace_back([&, rank] {
        const auto r = static_cast<std::size_t>(rank);
        got[r] = redistribute(group.member(rank), rows_of(read[r], kRows), dealt, step_bytes);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int rank = 0; rank < kWorkers; ++rank) {
      const auto blocks = owned_blocks(dealt, rank, kWorkers);
      const data::Dataset& data = got[static_cast<std::size_t>(rank)];
      const auto& x = std::get<data::Sparse<double>>(data.x);
      std::int64_t local = 0;
      for (const data::RowRange& block : blocks) {
        for (std::int64_t row = block.begin; row < block.end; ++row, ++local) {
          ASSERT_LT(local, x.rows);
          ASSERT_EQ(data.labels[static_cast<std::size_t>(local)], static_cast<double>(row));
          ASSERT_EQ(data.weights[static_cast<std::size_t>(local)], static_cast<double>(row));
          const auto cells = x.row(local);
          ASSERT_EQ(static_cast<std::int64_t>(cells.values.size()), row % 4);
          for (std::size_t i = 0; i < cells.values.size(); ++i) {
            ASSERT_EQ(cells.values[i], static_cast<double>(row) + static_cast<double>(i));
            ASSERT_EQ(cells.columns[i], static_cast<std::int32_t>(i));
          }
        }
      }
      EXPECT_EQ(local, x.rows);
    }
  }
}

}  // namespace
}  // namespace meanwhile::job
