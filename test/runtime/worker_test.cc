// One answer: whatever the shards, the workers and their threads.
#include "meanwhile/runtime/storage/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/runtime/jobs.h"

namespace meanwhile::runtime {
namespace {

void run(const Job& job, int workers, int threads) {
  SCOPED_TRACE(fmt::format("{}, {} shards, {} workers of {} threads", job.kind.name,
                           job.part.shards.size(), workers, threads));
  Place place;
  const JobRecord record = job.submit(place, 2).job;
  Workers all(record);
  for (int w = 0; w < workers; ++w) {
    all.start(place.open(), quick(fmt::format("w{}", w), threads), job.make());
  }
  all.join();
  for (std::size_t w = 0; w < all.size(); ++w) {
    EXPECT_EQ(all[w].error, "");
    EXPECT_EQ(all[w].result.ending, Ending::kDone);
    EXPECT_EQ(all[w].result.ended.value("model_sha256", ""), job.expected);
    EXPECT_EQ(all[w].result.rounds, job.rounds);
  }
  expect_result(place, job, record);
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
