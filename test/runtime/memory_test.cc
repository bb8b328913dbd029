// Shard memory at a store: killed workers, stolen shards and late comers change no bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/runtime/storage/shard_memories.h"
#include "test/runtime/memory_learner.h"
#include "test/runtime/survival.h"

namespace meanwhile::runtime {
namespace {

TEST(ShardMemory, GivesTheBitsOfTheSerialLoopForEveryNumberOfShardsAndWorkers) {
  for (const int shards : {1, 3, 9}) {
    const Job job = memory_job(20, shards);
    expect_result_of_workers(job, {1});
    expect_result_of_workers(job, {1, 2, 1});
  }
}

TEST(ShardMemory, SurvivesAHundredKillsAtAnyCall) {
  expect_result_through_a_hundred_kills(SimJob(memory_job(30, 9)));
}

// Saves and replays included.
TEST(ShardMemory, SurvivesTheDeathOfAWorkerAtEveryCallOfAnEarlyRound) {
  expect_result_through_a_death_at_every_call(SimJob(memory_job(12, 4)), 160);
}

// Threads, a directory, and machines that lose their network.
TEST(ShardMemory, IsReplayedByAWorkerThatTakesAShardOver) {
  const Job job = memory_job(40, 9);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  for (const int calls : {60, 150, 260}) {
    std::atomic<int> made = 0;
    Hooks deadly;
    deadly.before = [&](const std::string&, const std::string&) {
      if (++made > calls) throw base::Error(base::ErrorKind::kSystem, "no network");
    };
    Workers workers(record);
    workers.start(place.open(deadly), quick(fmt::format("mortal-{}", calls)), job.make());
    workers.join();
    EXPECT_THAT(workers[0].error, testing::HasSubstr("no network"));
  }
  Workers workers(record);
  for (const char* id : {"a", "b"}) workers.start(place.open(), quick(id), job.make());
  workers.join();
  for (std::size_t w = 0; w < 2; ++w) EXPECT_EQ(workers[w].error, "");
  expect_result(place, job, record);
}

// The room a job takes does not grow with its rounds: old saves go, and the totals with them.
TEST(ShardMemory, KeepsTheLastCompleteSaveOnly) {
  const Job job = memory_job(60, 3);
  Place place;
  const JobRecord record = job.submit(place, 2).job;
  std::size_t most_saves = 0, most_rounds = 0;
  Workers workers(record);
  workers.start(place.open(), quick("a"), job.make(), [&](Workers::One&, const job::RoundEvent&) {
    std::set<std::int64_t> saves, rounds;
    for (const std::string& name : place.blobs()) {
      if (const auto step = memory_step_of(name, record.names())) saves.insert(*step);
      if (const auto step = step_of(name, record.names())) rounds.insert(*step);
    }
    most_saves = std::max(most_saves, saves.size());
    most_rounds = std::max(most_rounds, rounds.size());
  });
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, job, record);
  EXPECT_GE(most_saves, 1u);
  EXPECT_LE(most_saves, 3u);
  EXPECT_LE(most_rounds, static_cast<std::size_t>(3 * record.memory_every));
}

}  // namespace
}  // namespace meanwhile::runtime
