// Jobs with a staleness: workers that make updates of the next step while they wait for the total
// of this one.
#include <gtest/gtest.h>

#include <map>

#include "meanwhile/exchange/sum.h"
#include "meanwhile/runtime/storage/reducer.h"
#include "meanwhile/runtime/storage/shard_runner.h"
#include "test/runtime/simulator.h"

namespace meanwhile::runtime {
namespace {

SimPlan plan_of(std::uint64_t seed, int workers) {
  SimPlan plan;
  plan.seed = seed;
  plan.workers = workers;
  return plan;
}

std::vector<Kind> toy_learners() {
  return {stale(toy({.max_iter = 9, .lags = true})),
          stale(toy({.max_iter = 9, .lags = true, .restarts_after = 4})),
          stale(toy({.max_iter = 9, .lags = true, .ends_after = 5})),
          stale(toy({.max_iter = 9, .lags = true}), 3)};
}

TEST(Stale, WorkersGiveTheBitsOfThreads) {
  for (const Kind& kind : toy_learners()) {
    for (const int shards : {1, 3, 9, 20}) {
      const SimJob job(Job(kind, shards));
      for (const int workers : {1, 3}) {
        SCOPED_TRACE(fmt::format("{}, {} shards, {} workers", kind.name, shards, workers));
        EXPECT_EQ(simulate(job, plan_of(1, workers)).findings, std::vector<std::string>());
      }
    }
  }
}

TEST(Stale, DeathsStopsAndDamageChangeNoBit) {
  std::int64_t kills = 0, stops = 0, damaged = 0;
  for (const Kind& kind : toy_learners()) {
    const SimJob job(Job(kind, 9));
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", kind.name, seed));
      SimPlan plan = plan_of(seed, 3);
      plan.deaths = 3;
      plan.faults.stop = 0.003;
      plan.faults.damage = 0.05;
      const Simulation run = simulate(job, plan);
      EXPECT_EQ(run.findings, std::vector<std::string>());
      kills += run.counts.kills, stops += run.counts.stops, damaged += run.counts.damaged;
    }
  }
  EXPECT_GT(kills, 50);
  EXPECT_GT(stops, 50);
  EXPECT_GT(damaged, 50);
}

// One shard each, and requests that take about as long as the work on it.
TEST(Stale, WorkersDoNotWaitForTheSum) {
  const job::ToyParameters parameters = {.max_iter = 60, .lags = true};
  const SimJob fresh_job(Job(toy(parameters), 4)), stale_job(Job(stale(toy(parameters)), 4));
  SimPlan plan = plan_of(2, 4);
  plan.work_s = 0.02;
  const double fresh_s = simulate(fresh_job, plan).seconds;
  const double stale_s = simulate(stale_job, plan).seconds;
  EXPECT_LT(stale_s, 0.75 * fresh_s) << "seconds without a staleness: " << fresh_s;
}

// A job that was submitted, and a worker's runner without the worker.
class Runner {
 public:
  explicit Runner(const Job& job)
      : shards_(static_cast<int>(job.part.shards.size())),
        opened_(place_.open()),
        record_(job.submit(*opened_).job),
        make_(job.make()),
        runner_(*opened_->store.blobs, record_, make_, 1, 0) {
    EXPECT_TRUE(runner_.catch_up());
  }

  ShardRunner& operator*() { return runner_; }
  ShardRunner* operator->() { return &runner_; }
  std::set<int> all() const {
    std::set<int> shards;
    for (int shard = 0; shard < shards_; ++shard) shards.insert(shard);
    return shards;
  }
  using Updates = std::map<int, storage::Bytes>;
  Updates work(const std::set<int>& shards, const std::set<int>& held) {
    Updates updates;
    EXPECT_TRUE(runner_.work(shards, held, keep(updates)));
    return updates;
  }
  Updates work_ahead(const std::set<int>& shards, const std::set<int>& held) {
    Updates updates;
    EXPECT_TRUE(runner_.work_ahead(shards, held, keep(updates)));
    return updates;
  }
  void absorb(const Updates& updates) {
    exchange::OrderedSum sum(shards_, runner_.update_shape());
    for (const auto& [shard, bytes] : updates) {
      exchange::Update update(runner_.update_shape());
      EXPECT_TRUE(read_update(data::SafetensorsFile(bytes, "update"), update));
      sum.give(shard, std::move(update));
    }
    runner_.absorb(sum.total());
  }

 private:
  static ShardRunner::Use keep(Updates& updates) {
    return [&](int shard, const exchange::Update& update) {
      updates[shard] = seal_update(update);
      return true;
    };
  }

  const int shards_;
  const Place place_;
  const std::unique_ptr<OpenPlace> opened_;
  const JobRecord record_;
  const MakeLearner make_;
  ShardRunner runner_;
};

TEST(Stale, UpdatesMadeAheadAreThoseOfTheNextStep) {
  const Job job(stale(toy({.max_iter = 8, .lags = true})), 4);
  Runner ahead(job), plain(job);
  Runner::Updates next;
  int steps_ahead = 0;
  while (ahead->rounds_left() > 1) {
    const Runner::Updates updates = plain.work(plain.all(), plain.all());
    // Two shards are held, and one more comes when the learner has run ahead.
    const Runner::Updates mine =
        next.empty() ? ahead.work({0, 1}, {0, 1}) : std::exchange(next, {});
    for (const auto& [shard, update] : mine) EXPECT_EQ(update, updates.at(shard)) << shard;
    if (ahead->runs_ahead()) {
      ++steps_ahead;
      next = ahead.work_ahead({0}, {0, 1});
      // The learner is at the next step, and a late update is of this one.
      EXPECT_EQ(ahead.work({2}, {0, 1, 2}).at(2), updates.at(2));
      EXPECT_EQ(ahead.work({0}, {1, 2}).at(0), updates.at(0));
      next.merge(ahead.work_ahead({1}, {0, 1, 2}));
      next.merge(ahead.work_ahead({2}, {0, 1, 2}));
    }
    ahead.absorb(updates);
    plain.absorb(updates);
    EXPECT_EQ(ahead->state(), plain->state());
  }
  EXPECT_GT(steps_ahead, 5);
}

TEST(Stale, ALearnerWithoutALagIsNotAsked) {
  Runner runner(Job(toy({.lags = true}), 2));
  runner.work(runner.all(), runner.all());
  EXPECT_FALSE(runner->runs_ahead());
  EXPECT_FALSE(runner->is_ahead());
}

class QuietEnvironment final : public Environment {
 public:
  double time_s() override { return 0; }
  void wake(Activity) override {}
};

// Own updates of the next step are added when it begins, and not downloaded.
TEST(Stale, AReducerKeepsUpdatesOfTheNextStep) {
  const Job job(toy(), 3);
  Place place;
  const auto opened = place.open();
  const JobRecord record = job.submit(*opened).job;
  QuietEnvironment environment;
  PollBudget budget(1000, 0);
  Reducer reducer(*opened->store.blobs, record, 1, budget, environment);
  const exchange::UpdateShape shape = {{.rows = 2}};
  reducer.set_tasks({{Task::Kind::kRoot, 0}});
  reducer.begin(4, shape);
  for (int shard = 0; shard < 3; ++shard) {
    exchange::Update update(shape);
    update.dense<double>(0)[0] = shard + 1;
    reducer.own(5, shard, update);
    reducer.own(6, shard, update);  // of a step that is too far ahead
  }
  reducer.step(0);
  EXPECT_FALSE(reducer.has_total(4));
  EXPECT_FALSE(reducer.has_total(5));
  reducer.begin(5, shape);
  reducer.step(0);
  EXPECT_TRUE(reducer.has_total(5));
  const auto total = reducer.take_total(5);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->dense<double>(0)[0], 6);
  reducer.begin(6, shape);
  reducer.step(0);
  EXPECT_FALSE(reducer.has_total(6));
}

}  // namespace
}  // namespace meanwhile::runtime
