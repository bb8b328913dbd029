#include "meanwhile/plan/dial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace meanwhile::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kWorkers = 8;
constexpr Stragglers kSometimes = {0.05, 5, 5};
constexpr Stragglers kOne = {0, 4, 5, true};

Machine machine() {
  Machine machine;
  machine.name = "test";
  machine.flops = 1e9;
  machine.network = Network{1e6, 0, 0};
  Storage storage;
  storage.read = storage.write = storage.spread = 1e8;
  machine.storage = storage;
  return machine;
}

// A second of work for each of 8 workers.
Job job(double update_bytes) {
  Job job;
  job.learner = "test";
  job.shape = {1000, 100, 100'000};
  learn::Cost cost;
  cost.flops = 8e9;
  cost.update_bytes = update_bytes;
  cost.kernel = "test";
  job.course = {{learn::Phase::kTrain, 20, cost}};
  return job;
}

DialAdvice advise(double update_bytes, const Stragglers& slow, int shards = 0,
                  Medium medium = Medium::kNetwork) {
  Setting setting;
  setting.medium = medium;
  setting.shards = shards;
  return advise_dial(machine(), job(update_bytes), setting, kWorkers, slow);
}

const DialSetting& best(const DialAdvice& advice) { return advice.settings.at(advice.best); }

std::vector<int> staleness(const DialAdvice& advice) {
  std::vector<int> all;
  for (const DialSetting& setting : advice.settings) all.push_back(setting.staleness);
  return all;
}

TEST(Dial, PredictsFourSettings) {
  const DialAdvice advice = advise(3e5, kSometimes);
  EXPECT_THAT(staleness(advice), ElementsAre(0, 1, 4, 8));
  for (const DialSetting& setting : advice.settings) {
    SCOPED_TRACE(setting.staleness);
    EXPECT_NEAR(setting.saved, 1 - setting.round_s / advice.settings[0].round_s, 1e-12);
    EXPECT_LE(setting.mean_staleness, setting.staleness);
    ASSERT_EQ(setting.shares.size(), static_cast<std::size_t>(setting.staleness) + 1);
    EXPECT_NEAR(std::accumulate(setting.shares.begin(), setting.shares.end(), 0.0), 1, 1e-12);
  }
}

TEST(Dial, StaysAtRoundsWhereTheExchangeIsShort) {
  const DialAdvice advice = advise(1e4, {});
  EXPECT_EQ(best(advice).staleness, 0);
  EXPECT_THAT(advice.why, HasSubstr("staleness 1 would save 2 % of a round"));
  EXPECT_THAT(advise(0, {}).why, HasSubstr("no other setting is faster"));
}

TEST(Dial, OverlapsALongExchange) {
  const DialAdvice advice = advise(4e5, {});
  EXPECT_EQ(best(advice).staleness, 1);
  EXPECT_NEAR(best(advice).round_s, 1, 0.01);
  EXPECT_THAT(advice.why, HasSubstr("the exchange (0.7 s) overlaps the work (1 s): "));
  EXPECT_THAT(advice.why, HasSubstr("every run still gives the same model"));
}

TEST(Dial, LetsWorkersRunAheadOfSlowOnes) {
  const DialAdvice advice = advise(1e5, kSometimes);
  EXPECT_EQ(best(advice).staleness, 4);
  EXPECT_THAT(advice.why, HasSubstr("only when it is 4 rounds ahead"));
  EXPECT_THAT(advice.why, HasSubstr("recorded for a replay"));
}

// Staleness does nothing for a worker that is always slow.
TEST(Dial, PrefersStealingWhereThereAreShardsToSteal) {
  const DialAdvice ranks = advise(1e5, kOne, 32);
  EXPECT_THAT(staleness(ranks), ElementsAre(0, 0, 1, 1, 4, 8));
  EXPECT_EQ(best(ranks).stealing, Stealing::kNeighbour);
  EXPECT_THAT(ranks.why, HasSubstr("the next worker holds the rows of a shard, too"));

  const DialAdvice store = advise(1e5, kOne, 32, Medium::kStorage);
  EXPECT_THAT(staleness(store), ElementsAre(0, 0, 1, 1, 4, 8));
  EXPECT_EQ(best(store).stealing, Stealing::kAny);
  EXPECT_THAT(store.why, HasSubstr("free workers take shards of slow ones"));

  const DialAdvice threads = advise(1e5, kOne, 32, Medium::kMemory);
  EXPECT_THAT(staleness(threads), ElementsAre(0, 1, 4, 8));
  EXPECT_EQ(threads.settings[0].stealing, Stealing::kAny);
}

TEST(Dial, HasNothingToOverlapOnThreads) {
  const DialAdvice advice = advise(4e7, {}, 0, Medium::kMemory);
  EXPECT_EQ(best(advice).staleness, 0);
  for (const DialSetting& setting : advice.settings) EXPECT_NEAR(setting.saved, 0, 1e-9);
}

TEST(Dial, CountsBuffersOfUpdates) {
  EXPECT_EQ(update_buffers(0, 8), 1);
  EXPECT_EQ(update_buffers(1, 8), 2);
  EXPECT_EQ(update_buffers(4, 8), update_buffers(8, 8));
  const DialAdvice advice = advise(1e5, {});
  EXPECT_EQ(advice.settings[0].buffer_bytes, 1e5);
  EXPECT_EQ(advice.settings[1].buffer_bytes, 2e5);
  EXPECT_GT(advice.settings[2].buffer_bytes, 2e5);
}

TEST(Dial, SaysForHowManyWorkersItSimulates) {
  Setting setting;
  setting.medium = Medium::kNetwork;
  const DialAdvice many = advise_dial(machine(), job(1e5), setting, 10'000, kSometimes);
  EXPECT_THAT(many.settings, IsEmpty());
  EXPECT_THAT(many.why, HasSubstr("at most 4096 workers"));
  EXPECT_THAT(staleness(advise_dial(machine(), job(1e5), setting, 10'000, {})),
              ElementsAre(0, 1, 4, 8));
}

TEST(Overlapped, IsTheLongerOfWorkAndExchange) {
  EXPECT_DOUBLE_EQ(overlapped(10, 4, 1).seconds, 11);
  EXPECT_DOUBLE_EQ(overlapped(10, 4, 1).saved, 4.0 / 15);
  EXPECT_DOUBLE_EQ(overlapped(4, 10, 1).saved, 4.0 / 15);
  EXPECT_EQ(overlapped(0, 0, 0).saved, 0);
}

}  // namespace
}  // namespace meanwhile::plan
