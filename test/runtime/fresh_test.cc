// Jobs whose shards read what has arrived at the store: the bound is kept, and the record gives the
// same bits on threads, whatever befalls the workers.
#include <gtest/gtest.h>

#include "test/runtime/simulator.h"

namespace meanwhile::runtime {
namespace {

SimPlan plan_of(std::uint64_t seed, int workers) {
  SimPlan plan;
  plan.seed = seed;
  plan.workers = workers;
  plan.work_s = 0.02;
  return plan;
}

TEST(Fresh, WhatIsRecordedIsRepeatedOnThreads) {
  for (const MovingParameters& parameters :
       {MovingParameters{.max_iter = 40}, MovingParameters{.max_iter = 40, .ends_after = 21},
        MovingParameters{.max_iter = 7, .score = false}}) {
    for (const int shards : {1, 3, 9}) {
      const SimJob job(Job(moving(parameters, 2), shards));
      for (const int workers : {1, 3}) {
        SCOPED_TRACE(
            fmt::format("{} rounds, {} shards, {} workers", parameters.max_iter, shards, workers));
        EXPECT_EQ(simulate(job, plan_of(1, workers)).findings, std::vector<std::string>());
      }
    }
  }
}

TEST(Fresh, DeathsStopsAndDamageAreNoHarm) {
  std::int64_t kills = 0, stops = 0, damaged = 0;
  const SimJob job(Job(moving({.max_iter = 24}, 3), 5));
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SimPlan plan = plan_of(seed, 3);
    plan.deaths = 3;
    plan.faults.stop = 0.002;
    plan.faults.damage = 0.02;
    plan.faults.late = 0.05;
    plan.faults.cut = 0.02;
    plan.faults.again = 0.01;
    const Simulation run = simulate(job, plan);
    EXPECT_EQ(run.findings, std::vector<std::string>());
    kills += run.counts.kills, stops += run.counts.stops, damaged += run.counts.damaged;
  }
  EXPECT_GT(kills, 50);
  EXPECT_GT(stops, 50);
  EXPECT_GT(damaged, 30);
}

}  // namespace
}  // namespace meanwhile::runtime
