// Jobs that must end with the model of threads: with any workers, and through their deaths.
#pragma once

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "test/runtime/simulator.h"

namespace meanwhile::runtime {

// A worker for each number of threads, on threads of this process.
inline void expect_result_of_workers(const Job& job, const std::vector<int>& threads) {
  SCOPED_TRACE(fmt::format("{}, {} shards, workers of {} threads", job.kind.name,
                           job.part.shards.size(), fmt::join(threads, ", ")));
  Place place;
  const JobRecord record = job.submit(place, 2).job;
  Workers all(record);
  for (std::size_t w = 0; w < threads.size(); ++w) {
    all.start(place.open(), quick(fmt::format("w{}", w), threads[w]), job.make());
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

inline void expect_result_of_simulation(const SimJob& job, const SimPlan& plan,
                                        std::int64_t& deaths) {
  const Simulation run = simulate(job, plan);
  ASSERT_EQ(run.model, job.job.expected);
  ASSERT_EQ(run.memory, job.job.expected_memory);
  ASSERT_EQ(run.findings, std::vector<std::string>());
  deaths += run.counts.kills;
}

// Every worker goes without notice after some calls of the store; another comes.
inline void expect_result_through_a_hundred_kills(const SimJob& job) {
  SimPlan plan{.workers = 3, .work_s = 0.02, .deaths = 8};
  std::int64_t deaths = 0;
  for (plan.seed = 1; deaths < 100 && !testing::Test::HasFatalFailure(); ++plan.seed) {
    SCOPED_TRACE(fmt::format("seed {}, {}", plan.seed, job.job.kind.name));
    ASSERT_LT(plan.seed, 60u) << "workers do not die";
    expect_result_of_simulation(job, plan, deaths);
  }
}

// At every third call in turn, so that no place of a round is left out.
inline void expect_result_through_a_death_at_every_call(const SimJob& job, std::int64_t last_call) {
  SimPlan plan{.seed = 1, .workers = 2, .work_s = 0.02, .deaths = 1};
  std::int64_t deaths = 0;
  for (plan.calls = 5; plan.calls < last_call && !testing::Test::HasFatalFailure();
       plan.calls += 3) {
    SCOPED_TRACE(fmt::format("after {} calls", plan.calls));
    expect_result_of_simulation(job, plan, deaths);
  }
}

}  // namespace meanwhile::runtime
