// How shards come to workers of different speeds.
#include "meanwhile/runtime/storage/balance.h"

#include <gtest/gtest.h>

#include "test/runtime/simulator.h"

namespace meanwhile::runtime {
namespace {

TEST(Balance, EachShardGoesToTheWorkerThatFinishesItFirst) {
  EXPECT_EQ(balanced_seconds(0, {1}), 0);
  EXPECT_EQ(balanced_seconds(5, {2}), 10);
  EXPECT_EQ(balanced_seconds(32, {1, 1, 1, 1, 1, 1, 1, 1}), 4);
  EXPECT_EQ(balanced_seconds(33, {1, 1, 1, 1, 1, 1, 1, 1}), 5);
  // One worker takes four times as long: it does one shard, and three others do five.
  EXPECT_EQ(balanced_seconds(32, {4, 1, 1, 1, 1, 1, 1, 1}), 5);
  // Too slow for any.
  EXPECT_EQ(balanced_seconds(4, {100, 1, 1}), 2);
}

SimPlan plan_of(std::uint64_t seed, std::vector<double> work_factors) {
  SimPlan plan;
  plan.seed = seed;
  plan.workers = 8;
  plan.work_s = 0.25;
  plan.lease_s = 30;  // as `submit` has it
  plan.polls_per_s = 20;
  plan.work_factors = std::move(work_factors);
  return plan;
}

// Four shards each would make every step as long as sixteen shards of a worker that is not slow.
// Balanced, it is as long as five.
TEST(Balance, OneSlowWorkerHardlySlowsTheOthers) {
  constexpr int kRounds = 300, kSteps = kRounds + 4;
  const job::ToyParameters parameters = {.max_iter = kRounds, .lags = true};
  const SimJob fresh_job(Job(toy(parameters), 32)), stale_job(Job(stale(toy(parameters)), 32));
  const auto gain = [](const SimJob& job, std::uint64_t seed) {
    const SimPlan plan = plan_of(seed, {4});
    const Simulation run = simulate(job, plan);
    EXPECT_EQ(run.findings, std::vector<std::string>());
    return kSteps * 16 * plan.work_s / run.seconds;
  };
  EXPECT_GT(gain(fresh_job, 1), 2.7);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) EXPECT_GT(gain(stale_job, seed), 3.0) << seed;
}

TEST(Balance, EqualWorkersHoldEqualShares) {
  constexpr int kSteps = 100 + 4;
  const SimJob job(Job(stale(toy({.max_iter = 100, .lags = true})), 32));
  const SimPlan plan = plan_of(1, {});
  const Simulation run = simulate(job, plan);
  EXPECT_EQ(run.findings, std::vector<std::string>());
  EXPECT_LT(run.seconds, 1.1 * kSteps * 4 * plan.work_s);
}

}  // namespace
}  // namespace meanwhile::runtime
