#include "meanwhile/runtime/storage/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "test/runtime/jobs.h"

namespace meanwhile::runtime {
namespace {

const Leg* leg(const StepCost& cost, std::string_view name) {
  for (const Leg& one : cost.legs) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

// Blobs at whoever has most, how many do it at the same time, whether they wait.
void expect_transfer(const StepCost& cost, std::string_view name, double blobs, int at_once,
                     bool waits) {
  const Leg* one = leg(cost, name);
  ASSERT_NE(one, nullptr) << name;
  EXPECT_EQ(one->blobs, blobs) << name;
  EXPECT_EQ(one->at_once, at_once) << name;
  EXPECT_EQ(one->waits, waits) << name;
}

StepCost cost_of(int shards, int workers) { return step_cost(layout_of(shards), workers); }

TEST(StepCost, OfOneShardIsAnUpdateAndATotal) {
  const StepCost cost = cost_of(1, 1);
  expect_transfer(cost, "update", 1, 1, false);
  expect_transfer(cost, "root", 0, 1, false);
  expect_transfer(cost, "total", 1, 1, false);
  EXPECT_EQ(leg(cost, "gather"), nullptr);
  EXPECT_EQ(leg(cost, "spread"), nullptr);
  EXPECT_EQ(cost.blobs_moved, 2);
}

TEST(StepCost, OfOneWorkerReadsNothing) {
  for (const int shards : {1, 8, 9, 16, 100}) {
    const StepCost cost = cost_of(shards, 1);
    for (const Leg& one : cost.legs) {
      EXPECT_FALSE(one.waits) << one.name;
      if (one.kind == Leg::Kind::kWrite) continue;
      EXPECT_EQ(one.blobs, 0) << one.name;
    }
    const Layout layout = layout_of(shards);
    EXPECT_EQ(cost.blobs_moved, shards + (layout.two_levels() ? layout.groups : 0) + 1);
  }
}

TEST(StepCost, OfOneLevelIsReadByTheRoot) {
  const StepCost cost = cost_of(8, 4);
  expect_transfer(cost, "update", 2, 4, false);
  EXPECT_EQ(leg(cost, "gather"), nullptr);
  EXPECT_EQ(leg(cost, "sum"), nullptr);
  expect_transfer(cost, "root", 6, 1, true);
  expect_transfer(cost, "total", 1, 1, false);
  expect_transfer(cost, "spread", 1, 3, true);
  EXPECT_EQ(cost.blobs_moved, 8 + 6 + 1 + 3);
}

// Four groups of four.
TEST(StepCost, OfTwoLevelsIsGatheredByGroups) {
  const StepCost two = cost_of(16, 2);
  expect_transfer(two, "update", 8, 2, false);
  expect_transfer(two, "gather", 0, 2, true);  // each has both of its groups itself
  expect_transfer(two, "sum", 2, 2, false);
  expect_transfer(two, "root", 2, 1, true);
  expect_transfer(two, "spread", 1, 1, true);

  const StepCost four = cost_of(16, 4);
  expect_transfer(four, "update", 4, 4, false);
  expect_transfer(four, "gather", 0, 4, true);
  expect_transfer(four, "sum", 1, 4, false);
  expect_transfer(four, "root", 3, 1, true);

  const StepCost all = cost_of(16, 16);
  expect_transfer(all, "update", 1, 16, false);
  expect_transfer(all, "gather", 3, 4, true);
  expect_transfer(all, "sum", 1, 4, false);
  expect_transfer(all, "root", 3, 1, true);
  expect_transfer(all, "spread", 1, 15, true);
  EXPECT_EQ(all.blobs_moved, 16 + 12 + 4 + 3 + 1 + 15);
}

// Those without a shard only read the total.
TEST(StepCost, OfMoreWorkersThanShardsIsThatOfOneAShardAndMoreReaders) {
  for (const int shards : {1, 5, 16, 33}) {
    const StepCost enough = cost_of(shards, shards), more = cost_of(shards, shards + 7);
    for (const Leg& one : enough.legs) {
      if (one.kind != Leg::Kind::kSpread) {
        expect_transfer(more, one.name, one.blobs, one.at_once, one.waits);
      }
    }
    EXPECT_EQ(leg(more, "spread")->at_once, shards + 6);
    EXPECT_EQ(more.blobs_moved, enough.blobs_moved + 7);
    EXPECT_EQ(more.requests, enough.requests + 7);
  }
}

TEST(StepCost, IsBoundedForAnyNumberOfShardsAndWorkers) {
  for (int shards = 1; shards <= 300; shards += shards < 40 ? 1 : 13) {
    const Layout layout = layout_of(shards);
    for (int workers = 1; workers <= 2 * shards; ++workers) {
      SCOPED_TRACE(fmt::format("{} shards, {} workers", shards, workers));
      const StepCost cost = step_cost(layout, workers);
      for (const Leg& one : cost.legs) {
        EXPECT_GE(one.blobs, 0) << one.name;
        EXPECT_GE(one.at_once, 1) << one.name;
        EXPECT_LE(one.at_once, workers) << one.name;
      }
      EXPECT_LE(cost.requests, 3 * shards + 3 * std::sqrt(shards) + workers);
      EXPECT_GE(cost.requests, cost.blobs_moved);
      // No update is read twice on its way to the total.
      const int sums = layout.two_levels() ? 2 * layout.groups : 0;
      EXPECT_LE(cost.blobs_moved, 2 * shards + sums + workers);
      EXPECT_GE(cost.blobs_moved, shards + 1 + workers - 1);
    }
  }
}

TEST(StepCost, OfMachinesThatOnlyAddIsThatOfThePaper) {
  EXPECT_EQ(separate_reducers(1), 0);
  EXPECT_TRUE(separate_reducers_cost(1).legs.empty());
  EXPECT_EQ(separate_reducers(2), 3);
  EXPECT_EQ(separate_reducers(16), 5);
  EXPECT_EQ(separate_reducers(17), 6);
  const StepCost cost = separate_reducers_cost(17);
  expect_transfer(cost, "update", 1, 17, false);
  expect_transfer(cost, "gather", 5, 5, true);
  expect_transfer(cost, "sum", 1, 5, false);
  expect_transfer(cost, "root", 5, 1, true);
  expect_transfer(cost, "total", 1, 1, false);
  expect_transfer(cost, "spread", 1, 17, true);
  EXPECT_EQ(cost.blobs_moved, 17 + 17 + 5 + 5 + 1 + 17);
}

// Requests that a job really makes of a store, by the kind of blob.
struct Requests {
  std::map<std::string, int> puts, gets;
};

Requests requests_of(const Job& job, int workers) {
  Place place;
  const JobRecord record = job.submit(place).job;
  const Names names = record.names();
  std::mutex mutex;
  Requests counted;
  Hooks hooks;
  hooks.after = [&](const std::string& verb, const std::string& name) {
    if (!name.starts_with(names.rounds()) || (verb != "put" && verb != "get")) return;
    const std::string kind = name.ends_with("/total")                   ? "total"
                             : name.find("/sums/") != std::string::npos ? "sum"
                                                                        : "update";
    const std::lock_guard lock(mutex);
    ++(verb == "put" ? counted.puts : counted.gets)[kind];
  };
  Workers all(record);
  for (int w = 0; w < workers; ++w) {
    all.start(place.open(hooks), quick(fmt::format("w{}", w)), job.make());
  }
  all.join();
  for (std::size_t w = 0; w < all.size(); ++w) EXPECT_EQ(all[w].error, "");
  return counted;
}

// Blobs of all kinds, and of each step.
double blobs_put_in_a_step(const Requests& real) {
  double all = 0;
  for (const auto& [kind, count] : real.puts) all += count;
  return all / real.puts.at("total");
}

TEST(StepCost, OfOneWorkerIsWhatAJobMoves) {
  for (const int shards : {1, 8, 9, 16, 20}) {
    SCOPED_TRACE(shards);
    const Job job(toy(), shards);
    const Requests real = requests_of(job, 1);
    EXPECT_GE(real.puts.at("total"), job.rounds);
    EXPECT_EQ(blobs_put_in_a_step(real), cost_of(shards, 1).blobs_moved);
    // It looks round when it comes, and never again.
    int read = 0;
    for (const auto& [kind, count] : real.gets) read += count;
    EXPECT_LE(read, 2 * shards + 8);
  }
}

// The number of puts does not depend on the number of workers, but for helping another.
TEST(StepCost, OfSeveralWorkersIsWhatAJobPuts) {
  for (const int shards : {8, 16, 20}) {
    SCOPED_TRACE(shards);
    double written = 0;
    for (const Leg& one : cost_of(shards, 4).legs) {
      if (one.kind == Leg::Kind::kWrite) written += one.blobs * one.at_once;
    }
    // Shards and groups are not cut: whoever has most may have more than the others.
    const double least = cost_of(shards, 1).blobs_moved;
    EXPECT_GE(written, least);
    EXPECT_LE(written, least + 8);
    const double real = blobs_put_in_a_step(requests_of(Job(toy(), shards), 4));
    EXPECT_GE(real, least);
    EXPECT_LE(real, 1.5 * least);
  }
}

}  // namespace
}  // namespace meanwhile::runtime
