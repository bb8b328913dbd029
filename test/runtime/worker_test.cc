// One answer: whatever the shards, the workers and their threads.
#include "meanwhile/runtime/storage/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/runtime/survival.h"

namespace meanwhile::runtime {
namespace {

void run(const Job& job, int workers, int threads) {
  expect_result_of_workers(job, std::vector<int>(static_cast<std::size_t>(workers), threads));
}

TEST(Worker, GivesTheBitsOfTheLoopOfThreadsForEveryNumberOfShardsAndWorkers) {
  for (const int shards : {1, 3, 8, 9, 16, 20}) {
    const Job job(toy(), shards);
    for (const int workers : {1, 2, 3, 5}) {
      if (shards < 9 && workers % 2 == 0) continue;
      run(job, workers, 1 + workers % 2);
    }
  }
}

TEST(Worker, GivesTheBitsOfTheLoopOfThreadsForEveryLearner) {
  int turn = 0;
  for (const Kind& kind : all_kinds()) {
    const Job job(kind, turn % 2 == 0 ? 9 : 3);
    run(job, 1 + turn % 3, 1 + turn % 2);
    ++turn;
  }
}

TEST(Worker, GivesTheBitsOfTheLoopOfThreadsWithAStaleness) {
  int turn = 0;
  for (const Kind& kind : stale_kinds()) {
    const Job job(kind, turn % 2 == 0 ? 9 : 3);
    for (const int workers : {1, 3}) run(job, workers, 1 + turn % 2);
    ++turn;
  }
}

}  // namespace
}  // namespace meanwhile::runtime
