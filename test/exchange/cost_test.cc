#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::exchange {
namespace {

// A multiple of every number of workers tried, in pieces that come out even.
constexpr std::size_t kValues = 8 * 3 * 5 * 100;

// Bytes that each worker sent of a dense update, with one shard a worker.
template <class Exchange>
std::vector<Traffic> sent(int workers, const Exchange& exchange) {
  transport::ThreadGroup group(workers);
  std::vector<Traffic> traffic(static_cast<std::size_t>(workers));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      const Update update = Update::of(std::vector<double>(kValues, 1.0));
      Update total(update.shape());
      const std::vector<Partial> mine{{owned(workers, rank, workers), &update}};
      traffic[static_cast<std::size_t>(rank)] =
          exchange(group.member(rank), workers, mine, total, kPieceBytes);
    });
  }
  threads.clear();
  return traffic;
}

TEST(Cost, OfAllreduceIsWhatEveryWorkerSends) {
  for (const int workers : {1, 2, 3, 5, 8}) {
    const Cost cost = allreduce_cost(kValues * sizeof(double), workers);
    for (const Traffic& traffic : sent(workers, allreduce)) {
      EXPECT_EQ(static_cast<double>(traffic.bytes), cost.bytes);
      EXPECT_EQ(static_cast<double>(traffic.messages), cost.messages);
    }
  }
}

TEST(Cost, OfTreeIsWhatTheRootReceivesAndSends) {
  for (const int workers : {1, 2, 3, 5, 8}) {
    const Cost cost = tree_cost(kValues * sizeof(double), workers);
    const std::vector<Traffic> traffic = sent(workers, tree);
    const int group = static_cast<int>(std::lround(std::sqrt(workers)));
    double bytes = static_cast<double>(traffic.front().bytes);
    double messages = static_cast<double>(traffic.front().messages);
    const double pieces = std::ceil(kValues * sizeof(double) / static_cast<double>(kPieceBytes));
    for (int rank = 1; rank < workers; ++rank) {
      const bool head = rank % group == 0;
      if (!head && rank >= group) continue;  // a member of another group
      // Bytes that a head sends down to its members do not reach the root.
      const double down = head ? std::min(group, workers - rank) - 1 : 0;
      const Traffic& own = traffic[static_cast<std::size_t>(rank)];
      bytes += static_cast<double>(own.bytes) - down * kValues * sizeof(double);
      messages += static_cast<double>(own.messages) - down * pieces;
    }
    EXPECT_EQ(bytes, cost.bytes) << workers;
    EXPECT_EQ(messages, cost.messages) << workers;
  }
}

TEST(Cost, OfTreeGrowsWithTheRootOfWorkersAndOfAllreduceHardly) {
  const double bytes = 8e7;
  EXPECT_LT(allreduce_cost(bytes, 64).bytes, 2 * bytes);
  // Updates of which nothing is another worker's are not spread, and sums still go to all.
  EXPECT_DOUBLE_EQ(allreduce_cost(bytes, 8, 8, 0).bytes, allreduce_cost(bytes, 8).bytes / 2);
  EXPECT_EQ(tree_cost(bytes, 64).bytes, 2 * (7 + 7) * bytes);
  // Ten workers share sixteen shards in ranges that are no subtrees.
  EXPECT_GT(tree_cost(bytes, 10, 16).bytes, tree_cost(bytes, 10, 20).bytes);
  EXPECT_GT(allreduce_cost(bytes, 10, 16).bytes, allreduce_cost(bytes, 10, 20).bytes);
  EXPECT_GT(tree_cost(bytes, 8).bytes / allreduce_cost(bytes, 8).bytes, 4);
}

}  // namespace
}  // namespace meanwhile::exchange
