#include "meanwhile/plan/simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/random.h"
#include "test/expect_error.h"

namespace meanwhile::plan {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;

Machine machine() {
  Machine machine;
  machine.name = "test";
  machine.flops = 1e9;
  machine.memory = 10e9;
  machine.disk = 100e6;
  machine.start = 2;
  machine.network = Network{100e6, 1e-4, 1e-5};
  Storage storage;
  storage.read = 40e6;
  storage.write = 20e6;
  storage.spread = 30e6;
  storage.aggregate = 20e9;
  storage.latency = 0.02;
  storage.notice = 0.1;
  machine.storage = storage;
  machine.price = {0.1, 1, 60};
  return machine;
}

// 10 s of work a round for each of P workers, whatever P is; some rounds of seeding and one of
// scoring besides.
Job job(int workers, double rounds) {
  Job job;
  job.learner = "test";
  job.shape.rows = std::int64_t{workers} * 1000;
  job.shape.cols = 100;
  job.shape.stored = job.shape.rows * job.shape.cols;
  learn::Cost cost;
  cost.flops = 10e9 * workers;
  cost.update_bytes = 800e3;
  cost.absorb_bytes = 800e3;
  cost.kernel = "test";
  learn::Cost seeding = cost;
  seeding.flops /= 4;
  job.course = {{learn::Phase::kPrepare, 3, seeding},
                {learn::Phase::kTrain, rounds, cost},
                {learn::Phase::kScore, 1, seeding}};
  return job;
}

constexpr FaultModel kNone{.jitter = 0};

Setting setting_at(Medium medium, int shards = 0) {
  Setting setting;
  setting.medium = medium;
  setting.shards = shards;
  return setting;
}

void expect_as_predicted(const Machine& where, const Setting& setting, int workers) {
  SCOPED_TRACE(fmt::format("{} with {} workers, {} shards", job::runtime_name(setting.medium),
                           workers, setting.shards));
  const Job what = job(workers, 12);
  const Simulated simulated = simulate(where, what, setting, workers, kNone, 1);
  const Point point = predict(where, what, setting, workers);
  EXPECT_NEAR(simulated.seconds, point.seconds, 0.01 * point.seconds);
  EXPECT_NEAR(simulated.load, point.load, 1e-9 * point.load);
  EXPECT_NEAR(simulated.seed, point.seed, 0.01 * point.seed);
  EXPECT_NEAR(simulated.score, point.score, 0.01 * point.score);
  EXPECT_NEAR(simulated.work + simulated.waiting, point.work, 0.01 * point.work);
  EXPECT_NEAR(simulated.absorb, point.absorb, 1e-9);
  EXPECT_NEAR(simulated.total_price, point.total_price, 0.02 * point.total_price);
  EXPECT_EQ(simulated.recovery, 0);
  EXPECT_EQ(simulated.deaths, 0);
  // A worker without a shard of its own cannot know that rounds of training are longer than
  // seeding.
  if (setting.shards > 0 && setting.shards < workers) return;
  EXPECT_EQ(simulated.speculated, 0);
  EXPECT_EQ(simulated.requests, point.requests);
}

TEST(Simulate, WithoutTroubleAgreesWithThePrediction) {
  for (const int workers : {1, 2, 3, 8, 9, 64, 100, 1000}) {
    expect_as_predicted(machine(), setting_at(Medium::kMemory), workers);
    expect_as_predicted(machine(), setting_at(Medium::kNetwork), workers);
    expect_as_predicted(machine(), setting_at(Medium::kNetwork, 3 * workers + 1), workers);
    Setting tree = setting_at(Medium::kNetwork);
    tree.exchange = job::Exchange::kTree;
    expect_as_predicted(machine(), tree, workers);
    expect_as_predicted(machine(), setting_at(Medium::kStorage), workers);
    expect_as_predicted(machine(), setting_at(Medium::kStorage, 4 * workers), workers);
    expect_as_predicted(machine(), setting_at(Medium::kStorage, (workers + 1) / 2), workers);
  }
}

TEST(Simulate, AgreesWhereOthersAdd) {
  Machine azure = machine();
  azure.storage->separate_reducers = true;
  for (const int workers : {1, 2, 5, 64, 1000}) {
    expect_as_predicted(azure, setting_at(Medium::kStorage), workers);
  }
}

// The time of rounds is that of bytes alone.
TEST(Simulate, AgreesWhereExchangeIsAll) {
  for (const int workers : {3, 64, 257}) {
    Job light = job(workers, 5);
    for (learn::Stretch& stretch : light.course) stretch.round.flops = 0;
    for (const Medium medium : {Medium::kNetwork, Medium::kStorage}) {
      const Simulated simulated = simulate(machine(), light, setting_at(medium), workers, kNone, 1);
      EXPECT_NEAR(simulated.ratio, 1, 0.01);
    }
  }
}

// Rounds may be the mean of earlier jobs.
TEST(Simulate, RoundsNeedNotBeWhole) {
  for (const double rounds : {0.0, 0.25, 7.5}) {
    const Job what = job(4, rounds);
    const Simulated simulated =
        simulate(machine(), what, setting_at(Medium::kNetwork), 4, kNone, 1);
    EXPECT_NEAR(simulated.ratio, 1, 1e-9);
  }
}

TEST(Simulate, PartsAndRoundsAddUp) {
  const FaultModel all{.jitter = 0.1,
                       .stragglers = 0.01,
                       .slow_links = 0.05,
                       .deaths = 0.5,
                       .late_blobs = 0.01,
                       .lateness_s = 3};
  for (const Medium medium : {Medium::kNetwork, Medium::kStorage}) {
    const Simulated simulated = simulate(machine(), job(64, 40), setting_at(medium), 64, all, 3);
    EXPECT_GT(simulated.deaths, 0);
    EXPECT_EQ(simulated.rounds.size(), 40U);
    const double rounds = std::accumulate(simulated.rounds.begin(), simulated.rounds.end(), 0.0);
    EXPECT_NEAR(simulated.load + rounds, simulated.seconds, 1e-6);
    EXPECT_NEAR(simulated.mean, rounds / 40, 1e-9);
    EXPECT_LE(simulated.p50, simulated.p95);
    EXPECT_LE(simulated.p95, simulated.p99);
    EXPECT_LE(simulated.p99, simulated.max);
    EXPECT_EQ(simulated.max, *std::max_element(simulated.rounds.begin(), simulated.rounds.end()));
    for (const double part : {simulated.load, simulated.work, simulated.waiting, simulated.exchange,
                              simulated.absorb, simulated.recovery}) {
      EXPECT_GE(part, 0);
    }
    EXPECT_GT(simulated.recovery, 0);
  }
}

// Whatever happens: parts are parts, and without jitter nothing is faster than predicted.
TEST(Simulate, AnyTroubleIsAccountedFor) {
  for (std::uint32_t trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const base::Random random(1, base::Purpose::kUser, 0, trial);
    std::uint64_t drawn = 0;
    const auto uniform = [&] { return random.uniform(drawn++); };
    const auto seldom = [&] { return uniform() < 0.5 ? 0 : std::pow(uniform(), 3); };
    FaultModel faults;
    faults.jitter = seldom();
    faults.stragglers = seldom();
    faults.slowdown = 1 + std::exp(3 * uniform());
    faults.slow_links = seldom();
    faults.link_slowdown = 1 + 9 * uniform();
    faults.restart_s = 100 * uniform();
    faults.late_blobs = seldom();
    faults.lateness_s = 20 * uniform();
    Machine where = machine();
    where.storage->separate_reducers = uniform() < 0.3;
    if (uniform() < 0.3) where.storage->aggregate = 90e6;
    const int workers = static_cast<int>(std::exp(5 * uniform()));
    faults.deaths = 10 * seldom() / workers;
    const int shards = uniform() < 0.5 ? 0 : 1 + static_cast<int>(300 * uniform());
    const Setting setting =
        setting_at(uniform() < 0.7 ? Medium::kStorage : Medium::kNetwork, shards);
    const Simulated simulated = simulate(where, job(workers, 8), setting, workers, faults, trial);
    const double rounds = std::accumulate(simulated.rounds.begin(), simulated.rounds.end(), 0.0);
    EXPECT_NEAR(simulated.load + rounds, simulated.seconds, 1e-9 * simulated.seconds);
    for (const double part :
         {simulated.work, simulated.waiting, simulated.exchange, simulated.recovery}) {
      EXPECT_GE(part, -1e-9 * simulated.seconds);
    }
    if (faults.jitter > 0) continue;
    EXPECT_GE(simulated.ratio, 1 - 1e-9);
  }
}

TEST(Simulate, OneSeedOneResult) {
  const FaultModel faults{.stragglers = 0.02, .deaths = 0.2, .late_blobs = 0.01};
  for (const Medium medium : {Medium::kNetwork, Medium::kStorage}) {
    const auto rounds = [&](std::uint64_t seed) {
      return simulate(machine(), job(50, 30), setting_at(medium), 50, faults, seed).rounds;
    };
    EXPECT_EQ(rounds(1), rounds(1));
    EXPECT_NE(rounds(1), rounds(2));
  }
}

// Each kind of trouble alone, more and more of it.
TEST(Simulate, MoreTroubleIsNotFaster) {
  const auto expect_slower = [&](const char* what, Medium medium,
                                 const std::vector<FaultModel>& more) {
    double before = simulate(machine(), job(64, 30), setting_at(medium), 64, kNone, 7).seconds;
    for (const FaultModel& faults : more) {
      const double seconds =
          simulate(machine(), job(64, 30), setting_at(medium), 64, faults, 7).seconds;
      EXPECT_GE(seconds, before) << what << " " << job::runtime_name(medium);
      before = seconds;
    }
    const double none = simulate(machine(), job(64, 30), setting_at(medium), 64, kNone, 7).seconds;
    EXPECT_GT(before, none) << what << " " << job::runtime_name(medium);
  };
  for (const Medium medium : {Medium::kNetwork, Medium::kStorage}) {
    expect_slower("jitter", medium, {{.jitter = 0.02}, {.jitter = 0.1}, {.jitter = 0.3}});
    expect_slower("stragglers", medium,
                  {{.jitter = 0, .stragglers = 0.001},
                   {.jitter = 0, .stragglers = 0.01},
                   {.jitter = 0, .stragglers = 0.1}});
    expect_slower("slowdown", medium,
                  {{.jitter = 0, .stragglers = 0.05, .slowdown = 1.5},
                   {.jitter = 0, .stragglers = 0.05, .slowdown = 3}});
    expect_slower(
        "links", medium,
        {{.jitter = 0, .slow_links = 0.1}, {.jitter = 0, .slow_links = 0.1, .link_slowdown = 40}});
    expect_slower("deaths", medium, {{.jitter = 0, .deaths = 0.2}, {.jitter = 0, .deaths = 1}});
  }
  expect_slower("blobs", Medium::kStorage,
                {{.jitter = 0, .late_blobs = 0.001},
                 {.jitter = 0, .late_blobs = 0.01},
                 {.jitter = 0, .late_blobs = 0.01, .lateness_s = 10}});
}

// The faults of a worker in a round do not depend on how many others there are: the rounds of more
// workers wait for the same stragglers, and more.
TEST(Simulate, TroubleOfAWorkerIsItsOwn) {
  const FaultModel faults{.jitter = 0.05, .stragglers = 0.01};
  const auto rounds = [&](int workers) {
    Job what = job(workers, 40);
    for (learn::Stretch& stretch : what.course) stretch.round.update_bytes = 0;
    return simulate(machine(), what, setting_at(Medium::kNetwork), workers, faults, 5).rounds;
  };
  const std::vector<double> few = rounds(10), many = rounds(100);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_GE(many[i], few[i] * (1 - 1e-3));
}

TEST(Simulate, AStragglerNowAndThenIsHelpedAtAStore) {
  const FaultModel rare{.jitter = 0, .stragglers = 0.001, .slowdown = 100};
  const auto simulated = [&](Medium medium) {
    return simulate(machine(), job(50, 50), setting_at(medium), 50, rare, 2);
  };
  const Simulated ranks = simulated(Medium::kNetwork), store = simulated(Medium::kStorage);
  EXPECT_GT(ranks.max, 1000);
  EXPECT_EQ(ranks.speculated, 0);
  EXPECT_GT(store.speculated, 0);
  EXPECT_LT(store.max, 100);
  EXPECT_GT(store.requests, store.predicted.requests);
}

TEST(Simulate, ADeathCostsRanksACheckpointAndAStoreALease) {
  const FaultModel deadly{.jitter = 0, .deaths = 0.5};
  const Simulated ranks =
      simulate(machine(), job(20, 50), setting_at(Medium::kNetwork), 20, deadly, 2);
  ASSERT_GT(ranks.deaths, 0);
  // A restart, the data again, and at most a checkpoint and a round of 10 s each done once more.
  const double most = 60 + ranks.load + 2 * 10 + 2 * ranks.predicted.round.seconds();
  EXPECT_GT(ranks.recovery, 0);
  EXPECT_LE(ranks.recovery, static_cast<double>(ranks.deaths) * most);

  const Simulated store =
      simulate(machine(), job(20, 50), setting_at(Medium::kStorage), 20, deadly, 2);
  ASSERT_GT(store.deaths, 0);
  EXPECT_GT(store.recovery, 0);
  EXPECT_LT(store.max, 60 + store.load + 4 * store.predicted.round.seconds());
}

TEST(Simulate, WorkersThatOnlyDieAreAnError) {
  const FaultModel deadly{.deaths = 1e6};
  for (const Medium medium : {Medium::kNetwork, Medium::kStorage}) {
    EXPECT_THAT(
        error_of(ErrorKind::kFailed,
                 [&] { simulate(machine(), job(10, 5), setting_at(medium), 10, deadly, 1); }),
        HasSubstr("die faster than they work"));
  }
}

TEST(Simulate, ImpossibleTroubleIsRefused) {
  const auto refused = [&](const char* what, const FaultModel& faults) {
    EXPECT_THAT(
        error_of(
            ErrorKind::kUsage,
            [&] { simulate(machine(), job(2, 1), setting_at(Medium::kNetwork), 2, faults, 1); }),
        HasSubstr(what));
  };
  refused("stragglers 1.5: expected 0 to 1", {.stragglers = 1.5});
  refused("slowdown 0.5: expected at least 1", {.slowdown = 0.5});
  refused("deaths -1: expected at least 0", {.deaths = -1});
  refused("late_blobs nan", {.late_blobs = std::nan("")});
}

}  // namespace
}  // namespace meanwhile::plan
