// Whole jobs on one thread, with a simulated clock: the code of the real workers, deterministic.
#include "test/runtime/simulated.h"

#include <gtest/gtest.h>

namespace meanwhile::runtime {
namespace {

constexpr double kWorkSeconds = 0.05;  // on a shard

void spend_time(SimWorld& world, learn::RoundLearner& learner) {
  dynamic_cast<job::ToyLearner&>(learner).on_work = [&](std::int64_t, int) {
    world.store.now_s += kWorkSeconds;
  };
}

TEST(Simulated, WorkersGiveTheBitsOfThreads) {
  const job::ToyParameters parameters = {.max_iter = 6};
  for (const int shards : {1, 3, 9, 20}) {
    const Job job(toy(parameters), shards);
    for (const int workers : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} shards, {} workers", shards, workers));
      EXPECT_EQ(simulate(job, 1, workers, 0, spend_time).model, job.expected);
    }
  }
}

TEST(Simulated, WorkersThatDieAtAnyCallChangeNoBit) {
  const job::ToyParameters parameters = {.max_iter = 8};
  const Job job(toy(parameters), 9);
  std::int64_t deaths = 0;
  for (unsigned seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Simulation run = simulate(job, seed, 3, 5, spend_time);
    EXPECT_EQ(run.model, job.expected);
    deaths += run.deaths;
  }
  EXPECT_GT(deaths, 50);
}

TEST(Simulated, TheSameSeedGivesTheSameTrace) {
  const job::ToyParameters parameters = {.max_iter = 5};
  const Job job(toy(parameters), 9);
  const Simulation first = simulate(job, 7, 3, 2, spend_time),
                   again = simulate(job, 7, 3, 2, spend_time),
                   other = simulate(job, 8, 3, 2, spend_time);
  EXPECT_GT(first.trace.size(), 100u);
  EXPECT_EQ(first.trace, again.trace);
  EXPECT_NE(first.trace, other.trace);
}

// The steps are short: all waiting is for leases of the dead to end, not for a real clock.
TEST(Simulated, ADeathCostsAboutALease) {
  const job::ToyParameters parameters = {.max_iter = 5};
  const Job job(toy(parameters), 9);
  const double quiet_s = simulate(job, 3, 3, 0, spend_time).seconds;
  const double hit_s = simulate(job, 3, 3, 1, spend_time).seconds;
  EXPECT_LT(hit_s, quiet_s + 3 * 2 + 5);
}

}  // namespace
}  // namespace meanwhile::runtime
