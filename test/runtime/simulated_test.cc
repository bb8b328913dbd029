// Whole jobs on one thread, with simulated time: the code of the real workers, deterministic.
#include <gtest/gtest.h>

#include "test/runtime/simulator.h"

namespace meanwhile::runtime {
namespace {

SimPlan plan_of(std::uint64_t seed, int workers, int deaths) {
  SimPlan plan;
  plan.seed = seed;
  plan.workers = workers;
  plan.deaths = deaths;
  return plan;
}

TEST(Simulated, WorkersGiveTheBitsOfThreads) {
  for (const int shards : {1, 3, 9, 20}) {
    const SimJob job(Job(toy({.max_iter = 6}), shards));
    for (const int workers : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} shards, {} workers", shards, workers));
      const Simulation run = simulate(job, plan_of(1, workers, 0));
      EXPECT_EQ(run.model, job.job.expected);
      EXPECT_EQ(run.findings, std::vector<std::string>());
    }
  }
}

TEST(Simulated, WorkersThatDieAtAnyCallChangeNoBit) {
  const SimJob job(Job(toy({.max_iter = 8}), 9));
  std::int64_t deaths = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Simulation run = simulate(job, plan_of(seed, 3, 5));
    EXPECT_EQ(run.model, job.job.expected);
    EXPECT_EQ(run.findings, std::vector<std::string>());
    deaths += run.counts.kills;
  }
  EXPECT_GT(deaths, 50);
}

TEST(Simulated, TheSameSeedGivesTheSameTrace) {
  const SimJob job(Job(toy({.max_iter = 5}), 9));
  const Simulation first = simulate(job, plan_of(7, 3, 2), true),
                   again = simulate(job, plan_of(7, 3, 2), true),
                   other = simulate(job, plan_of(8, 3, 2), true);
  EXPECT_GT(first.trace.size(), 100u);
  EXPECT_EQ(first.trace, again.trace);
  EXPECT_NE(first.trace, other.trace);
  // So do faults, and jobs that were made for another seed before.
  Simulator simulator, fresh;
  for (std::uint64_t seed = 1; seed < 8; ++seed) simulator.run(seed);
  EXPECT_EQ(simulator.run(8, true).trace, fresh.run(8, true).trace);
}

// The steps are short: all waiting is for leases of the dead to end, not for a real clock.
TEST(Simulated, ADeathCostsAboutALease) {
  const SimJob job(Job(toy({.max_iter = 5}), 9));
  const double quiet_s = simulate(job, plan_of(3, 3, 0)).seconds;
  const double hit_s = simulate(job, plan_of(3, 3, 1)).seconds;
  EXPECT_LT(hit_s, quiet_s + 3 * 2 + 5);
}

// A worker stands still before it puts a blob, and goes on when all others have left.
TEST(Simulated, AWorkerThatWakesUpAfterTheEndLeavesNothingBehind) {
  const SimJob toy_job(Job(toy({.max_iter = 3}), 9)), memory(memory_job(6, 9));
  for (const char* text : {"/0000/", "/sums/", "/total", "/state/", "/live/", "wants-tasks",
                           "/memory/", "/model-memory/", "metrics", "/usage/", "remove", "push"}) {
    SCOPED_TRACE(text);
    std::int64_t stops = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SimPlan plan;
      plan.seed = seed;
      plan.workers = 3;
      plan.memory_every = 2;
      plan.faults.freeze = text;
      plan.faults.lost = 0.3;  // so that a worker pushes messages
      plan.faults.until_s = 0;
      const bool needs_memory = std::string(text).find("memory") != std::string::npos;
      const Simulation run = simulate(needs_memory ? memory : toy_job, plan);
      EXPECT_EQ(run.findings, std::vector<std::string>());
      stops += run.counts.stops;
    }
    EXPECT_GT(stops, 0);
  }
}

// A worker that holds the root stands still before it puts the metrics of 64 rounds. When it goes
// on, another worker has put those of all rounds.
TEST(Simulated, AnOldHistoryIsNotPutOverANewerOne) {
  const SimJob job(Job(toy({.max_iter = 90}), 2));
  SimPlan plan = plan_of(1, 2, 0);
  plan.work_s = 0.01;
  plan.faults.freeze = "metrics";
  const Simulation run = simulate(job, plan);
  EXPECT_EQ(run.findings, std::vector<std::string>());
  EXPECT_EQ(run.counts.stops, 1);
}

// A copy of a damaged update would not stay: the first one is at the store.
TEST(Simulated, DamagedUpdatesAndSumsAreMadeAgain) {
  for (const int shards : {4, 12}) {
    const SimJob job(Job(toy({.max_iter = 4}), shards));
    std::int64_t damaged = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(fmt::format("{} shards, seed {}", shards, seed));
      SimPlan plan = plan_of(seed, 3, 0);
      plan.faults.damage = 0.2;
      const Simulation run = simulate(job, plan);
      EXPECT_EQ(run.findings, std::vector<std::string>());
      damaged += run.counts.damaged;
    }
    EXPECT_GT(damaged, 20);
  }
}

// A check of presence that was pending from before the last put; a damaged total beside a missing
// update; rows that showed late.
TEST(Simulated, SeedsThatHadFindingsHaveNone) {
  Simulator simulator;
  for (const std::uint64_t seed : {std::uint64_t{257462}, std::uint64_t{4}, std::uint64_t{9366}}) {
    EXPECT_EQ(simulator.run(seed).findings, std::vector<std::string>())
        << simulator.describe(seed) << "\nrepeat it with: simulate --seeds " << seed << " --trace";
  }
}

// `make simulate` runs more of them.
TEST(Simulated, FaultsOfEveryKindChangeNoBitAndLeaveNothingBehind) {
  Simulator simulator;
  FaultCounts counts;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Simulation run = simulator.run(seed);
    EXPECT_EQ(run.findings, std::vector<std::string>())
        << simulator.describe(seed) << "\nrepeat it with: simulate --seeds " << seed << " --trace";
    counts.add(run.counts);
  }
  for (const auto& [name, count] : counts.all()) EXPECT_GT(count, 10) << name;
}

}  // namespace
}  // namespace meanwhile::runtime
