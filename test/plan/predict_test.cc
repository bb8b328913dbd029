#include "meanwhile/plan/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "test/expect_error.h"

namespace meanwhile::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Machine machine() {
  Machine machine;
  machine.name = "test";
  machine.flops = 1e9;
  return machine;
}

// 10 s of work a round for one worker.
Job job(double rounds = 5, double update_bytes = 8e3) {
  Job job;
  job.learner = "test";
  job.shape = {1000, 100, 100'000};
  learn::Cost cost;
  cost.flops = 10e9;
  cost.update_bytes = update_bytes;
  cost.kernel = "test";
  job.course = {{learn::Phase::kTrain, rounds, cost}};
  return job;
}

Setting at(Medium medium, int shards = 0) {
  Setting setting;
  setting.medium = medium;
  setting.shards = shards;
  return setting;
}

Machine with_network(const Network& network) {
  Machine m = machine();
  m.network = network;
  return m;
}

TEST(Predict, PartsAddUp) {
  Machine m = machine();
  m.disk = 1e6;
  m.memory = 1e9;
  m.start = 3;
  m.round = 0.01;
  m.network = Network{1e6, 1e-3, 1e-4};
  Storage storage;
  storage.read = 1e6;
  storage.write = 5e5;
  storage.latency = 0.02;
  storage.notice = 0.1;
  m.storage = storage;
  Job what = job();
  what.course[0].round.absorb_bytes = 1e7;
  what.course.push_back({learn::Phase::kPrepare, 3, what.course[0].round});
  what.course.push_back({learn::Phase::kScore, 2, what.course[0].round});
  for (const Medium medium : {Medium::kMemory, Medium::kNetwork, Medium::kStorage}) {
    for (const int workers : {1, 4, 7}) {
      SCOPED_TRACE(fmt::format("{} x {}", job::runtime_name(medium), workers));
      const Point point = predict(m, what, at(medium), workers);
      EXPECT_DOUBLE_EQ(point.seconds, point.load + point.work + point.exchange + point.absorb);
      EXPECT_DOUBLE_EQ(point.work, 5 * point.round.work);
      EXPECT_DOUBLE_EQ(point.exchange, 5 * point.round.exchange);
      EXPECT_DOUBLE_EQ(point.absorb, 5 * point.round.absorb);
      EXPECT_DOUBLE_EQ(point.absorb, 5 * (0.01 + 0.01));
      EXPECT_DOUBLE_EQ(point.seed, 3 * point.round.seconds());
      EXPECT_DOUBLE_EQ(point.score, 2 * point.round.seconds());
      EXPECT_DOUBLE_EQ(point.requests, 10 * point.round.requests);
      EXPECT_DOUBLE_EQ(point.bytes, 10 * point.round.bytes);
      EXPECT_GE(point.load, 3);
      EXPECT_DOUBLE_EQ(point.efficiency, point.speedup / point.processes);
      EXPECT_EQ(point.requests > 0, medium == Medium::kStorage);
    }
  }
}

TEST(Predict, OneWorkerIsNoFasterThanItself) {
  Machine m = with_network({1e6, 1e-3, 1e-4});
  m.start = 3;
  m.disk = 1e5;  // 4 s
  m.round = 0.1;
  for (const Medium medium : {Medium::kMemory, Medium::kNetwork}) {
    const Point one = predict(m, job(), at(medium), 1);
    EXPECT_DOUBLE_EQ(one.speedup, 1);
    EXPECT_DOUBLE_EQ(one.efficiency, 1);
    EXPECT_EQ(one.exchange, 0);
    EXPECT_DOUBLE_EQ(one.seconds, sequential_seconds(m, job()));
    EXPECT_DOUBLE_EQ(one.seconds, 50 + 3 + 4 + 0.5);
  }
}

// Where nothing is in the way, P workers take a P-th of the time.
TEST(Predict, WorkIsShared) {
  for (const int workers : {2, 3, 10, 1000}) {
    const Point point = predict(machine(), job(5, 0), at(Medium::kMemory), workers);
    EXPECT_NEAR(point.speedup, workers, 1e-9 * workers);
  }
}

TEST(Predict, ThreadsBeyondTheCoresGainNothing) {
  Machine m = machine();
  m.cores = 4;
  m.together = 0.75;
  const auto seconds = [&](int workers) {
    return predict(m, job(5, 8e6), at(Medium::kMemory, 400), workers).seconds;
  };
  EXPECT_LT(seconds(2), seconds(1));
  EXPECT_LT(seconds(4), seconds(2));
  // All together are as fast as the profile says.
  EXPECT_NEAR(predict(m, job(), at(Medium::kMemory, 400), 4).work, 50 / (4 * 0.75), 1e-9);
  for (const int more : {5, 8, 50, 400}) EXPECT_GE(seconds(more), seconds(4) * (1 - 1e-9));
}

TEST(Predict, EveryCoreGains) {
  for (const double together : {0.1, 0.3, 0.5, 0.9, 1.0}) {
    Machine m = machine();
    m.cores = 16;
    m.together = together;
    double before = std::numeric_limits<double>::infinity();
    for (int workers = 1; workers <= m.cores; ++workers) {
      const double seconds = predict(m, job(), at(Medium::kMemory), workers).seconds;
      EXPECT_LT(seconds, before) << together << " " << workers;
      before = seconds;
    }
  }
}

// Two are read and one is written, by all who work.
TEST(Predict, ThreadsAddTheUpdatesOfAllShards) {
  Machine m = machine();
  m.memory = 1e9;
  const auto exchange = [&](int shards, int workers) {
    return predict(m, job(1, 1e8), at(Medium::kMemory, shards), workers).exchange;
  };
  EXPECT_EQ(exchange(1, 1), 0);
  EXPECT_NEAR(exchange(8, 1), 7 * 0.3, 1e-9);
  EXPECT_NEAR(exchange(8, 2), 7 * 0.3 / 2, 1e-9);
  EXPECT_GT(exchange(0, 16), 0.2);  // as many shards as threads
}

TEST(Predict, ProcessesOnOneComputerShareItsCores) {
  Machine m = machine();
  m.cores = 4;
  m.together = 0.5;
  m.network = Network{1e12};
  Setting apart = at(Medium::kNetwork), together = at(Medium::kNetwork);
  together.together = 4;
  EXPECT_NEAR(predict(m, job(), apart, 4).work, 50.0 / 4, 1e-9);
  EXPECT_NEAR(predict(m, job(), together, 4).work, 50.0 / 4 / 0.5, 1e-9);
  // Threads of a process are as good as so many workers.
  Setting threads = at(Medium::kNetwork);
  threads.threads = 4;
  EXPECT_NEAR(predict(m, job(), threads, 2).work, 50.0 / 2 / (4 * 0.5), 1e-9);
  // More of them than cores share cores.
  together.threads = 4;
  EXPECT_NEAR(predict(m, job(), together, 4).work, 50.0 / (4 * 0.5), 1e-9);
}

TEST(Predict, ShardsAreNotCut) {
  EXPECT_EQ(largest_share(at(Medium::kMemory), 7), 1.0 / 7);
  EXPECT_EQ(largest_share(at(Medium::kMemory, 8), 1), 1);
  EXPECT_EQ(largest_share(at(Medium::kMemory, 8), 3), 3.0 / 8);
  EXPECT_EQ(largest_share(at(Medium::kMemory, 8), 8), 1.0 / 8);
  EXPECT_EQ(largest_share(at(Medium::kMemory, 8), 100), 1.0 / 8);
  EXPECT_NEAR(predict(machine(), job(), at(Medium::kMemory, 8), 3).work, 50 * 3.0 / 8, 1e-9);
  EXPECT_NEAR(predict(machine(), job(), at(Medium::kMemory, 8), 5).work, 50 * 2.0 / 8, 1e-9);
}

TEST(Predict, HoursBegunArePaidFor) {
  const Price price{0.5, 2, 3600};
  EXPECT_DOUBLE_EQ(price_of(price, 1, 1, 0), 0.5);
  EXPECT_DOUBLE_EQ(price_of(price, 1, 3600, 0), 0.5);
  EXPECT_DOUBLE_EQ(price_of(price, 1, 3601, 0), 1);
  EXPECT_DOUBLE_EQ(price_of(price, 10, 7200, 0), 10);
  EXPECT_DOUBLE_EQ(price_of(price, 10, 7200, 3e6), 16);
  EXPECT_DOUBLE_EQ(price_of({0.5, 2, 1}, 1, 1800, 0), 0.25);
  EXPECT_DOUBLE_EQ(price_of({0.5, 2, 0}, 1, 900, 0), 0.125);
  Machine m = machine();
  m.price = price;
  const Point point = predict(m, job(), at(Medium::kMemory), 2);
  EXPECT_DOUBLE_EQ(point.price, 1);
}

TEST(Predict, PriceCountsSeedingAndScoringBesideTheRounds) {
  Machine m = machine();
  m.price = {3600, 0, 1};
  Job what = job();
  EXPECT_DOUBLE_EQ(predict(m, what, at(Medium::kMemory), 1).total_price, 50);
  what.course.push_back({learn::Phase::kPrepare, 2, what.course[0].round});
  what.course.push_back({learn::Phase::kScore, 1, what.course[0].round});
  const Point point = predict(m, what, at(Medium::kMemory), 1);
  EXPECT_DOUBLE_EQ(point.price, 50);
  EXPECT_DOUBLE_EQ(point.total_price, 80);
}

TEST(Predict, MoreRowsTakeLonger) {
  Machine m = machine();
  m.disk = 1e8;
  m.network = Network{1e8, 1e-4, 1e-5};
  Storage storage;
  storage.read = 1e7;
  m.storage = storage;
  for (const Medium medium : {Medium::kMemory, Medium::kNetwork, Medium::kStorage}) {
    for (const int workers : {1, 3, 64}) {
      double before = 0;
      for (const std::int64_t rows : {1'000, 1'001, 5'000, 1'000'000, 1'000'000'000}) {
        Job what = job();
        what.shape.rows = rows;
        what.shape.stored = rows * what.shape.cols;
        what.course[0].round.flops = 1e7 * static_cast<double>(rows);
        const double seconds = predict(m, what, at(medium), workers).seconds;
        EXPECT_GT(seconds, before) << job::runtime_name(medium) << " " << workers << " " << rows;
        before = seconds;
      }
    }
  }
}

// Ranks have disks of their own; threads share one.
TEST(Predict, DataIsReadFromTheDiskThereIs) {
  Machine m = with_network({1e9});
  m.disk = 1e6;
  EXPECT_DOUBLE_EQ(load_seconds(m, job(), at(Medium::kMemory), 4), 0.4);
  EXPECT_DOUBLE_EQ(load_seconds(m, job(), at(Medium::kNetwork), 4), 0.1);
  EXPECT_DOUBLE_EQ(load_seconds(m, job(), at(Medium::kNetwork, 6), 4), 0.4 * 2 / 6);
  Job known = job();
  known.load_bytes = 3e6;
  EXPECT_DOUBLE_EQ(load_seconds(m, known, at(Medium::kMemory), 4), 3);
  m.disk = 0;  // not known
  EXPECT_EQ(load_seconds(m, known, at(Medium::kMemory), 4), 0);
}

TEST(Predict, MemoryIsReadNoFasterThanItIs) {
  Machine m = machine();
  m.memory = 1e9;
  Job what = job();
  what.course[0].round.bytes_read = 1e9;  // 1 s: hidden by 10 s of work
  EXPECT_DOUBLE_EQ(predict(m, what, at(Medium::kMemory), 1).work, 50);
  what.course[0].round.bytes_read = 40e9;
  EXPECT_DOUBLE_EQ(predict(m, what, at(Medium::kMemory), 1).work, 200);
}

TEST(Predict, TheRateIsThatOfTheShape) {
  Machine m = machine();
  m.rates = {{"test", false, 100, 1, 5e9}, {"test", true, 4, 1, 1e8}};
  EXPECT_NEAR(predict(m, job(), at(Medium::kMemory), 1).work, 10, 1e-3);
  Job sparse = job();
  sparse.shape = {1000, 100, 4000, 2, true};  // four values a row
  EXPECT_NEAR(predict(m, sparse, at(Medium::kMemory), 1).work, 500, 1e-3);
}

double seconds_by(job::Exchange exchange, const Network& network, double bytes, int workers) {
  Setting setting;
  setting.exchange = exchange;
  learn::Cost cost;
  cost.update_bytes = bytes;
  return exchange_seconds(with_network(network), cost, {}, setting, workers);
}

TEST(PredictExchange, TreeIsForSmallUpdatesOfManyAndAllreduceForLargeOnes) {
  using job::Exchange;
  const Network network{1e9, 1e-5, 1e-5};
  EXPECT_LT(seconds_by(Exchange::kTree, network, 64, 64),
            seconds_by(Exchange::kAllreduce, network, 64, 64));
  EXPECT_LT(seconds_by(Exchange::kAllreduce, network, 1e8, 64),
            seconds_by(Exchange::kTree, network, 1e8, 64));
  EXPECT_LT(seconds_by(Exchange::kAllreduce, network, 1e8, 3),
            seconds_by(Exchange::kTree, network, 1e8, 3));
  for (const auto exchange : {Exchange::kTree, Exchange::kAllreduce}) {
    EXPECT_EQ(seconds_by(exchange, network, 1e8, 1), 0);
  }
}

// 2 (P-1)/P of an update goes through each link.
TEST(PredictExchange, AllreduceOfLargeUpdatesHardlyGrowsWithWorkers) {
  const Network network{1e9};
  EXPECT_NEAR(seconds_by(job::Exchange::kAllreduce, network, 1e9, 2), 1, 1e-9);
  EXPECT_NEAR(seconds_by(job::Exchange::kAllreduce, network, 1e9, 100), 2 * 0.99, 1e-9);
}

Storage storage_of(double read, double write, double latency = 0) {
  Storage storage;
  storage.read = read;
  storage.write = write;
  storage.latency = latency;
  return storage;
}

TEST(PredictStorage, ALegIsSoManyBlobsOneAfterTheOther) {
  using Kind = runtime::Leg::Kind;
  const Storage storage = storage_of(10e6, 5e6, 0.1);
  EXPECT_DOUBLE_EQ(leg_seconds(storage, {Kind::kRead, "", 3, 1, false}, 1e6), 3 * (0.1 + 0.1));
  EXPECT_DOUBLE_EQ(leg_seconds(storage, {Kind::kWrite, "", 3, 1, false}, 1e6), 3 * (0.1 + 0.2));
  // No limit is known of many that read one blob.
  EXPECT_DOUBLE_EQ(leg_seconds(storage, {Kind::kSpread, "", 1, 9, false}, 1e6), 0.1);
  // A shared rate is divided among the workers that use it.
  Storage shared = storage;
  shared.aggregate = 20e6;
  EXPECT_DOUBLE_EQ(leg_seconds(shared, {Kind::kRead, "", 1, 1, false}, 1e6), 0.2);
  EXPECT_DOUBLE_EQ(leg_seconds(shared, {Kind::kRead, "", 1, 40, false}, 1e6), 0.1 + 2);
}

// With sums of machines of their own: updates, sums and the total are waited for.
TEST(PredictStorage, WhatIsWaitedForIsNoticedLater) {
  Machine m = machine();
  m.storage = storage_of(10e6, 0);
  m.storage->separate_reducers = true;
  const double before = predict(m, job(), at(Medium::kStorage), 16).round.exchange;
  m.storage->notice = 0.25;
  EXPECT_NEAR(predict(m, job(), at(Medium::kStorage), 16).round.exchange, before + 3 * 0.25, 1e-9);
  EXPECT_EQ(predict(m, job(), at(Medium::kStorage), 1).round.exchange, 0);
}

TEST(PredictStorage, MachinesThatOnlyAddArePaidForToo) {
  Machine m = machine();
  m.storage = storage_of(10e6, 0);
  m.price.hour = 1;
  EXPECT_EQ(predict(m, job(), at(Medium::kStorage), 16).processes, 16);
  m.storage->separate_reducers = true;
  EXPECT_EQ(predict(m, job(), at(Medium::kStorage), 1).processes, 1);
  EXPECT_DOUBLE_EQ(predict(m, job(), at(Medium::kStorage), 1).speedup, 1);
  const Point point = predict(m, job(), at(Medium::kStorage), 16);
  EXPECT_EQ(point.processes, 16 + 5);
  EXPECT_DOUBLE_EQ(point.price, price_of(m.price, 21, point.seconds, 0));
}

TEST(PredictStorage, WorkersThatShareABandwidthLoadNoFasterTogether) {
  Machine m = machine();
  m.storage = storage_of(1e6, 0);
  const auto load = [&](int workers) {
    return load_seconds(m, job(), at(Medium::kStorage), workers);
  };
  EXPECT_DOUBLE_EQ(load(10), 4 * 100'000 / 1e6 / 10);
  m.storage->aggregate = 2e6;
  EXPECT_DOUBLE_EQ(load(10), 4 * 100'000 / 2e6);
  EXPECT_DOUBLE_EQ(load(100), load(10));
  m.storage->value_bytes = 8;
  EXPECT_DOUBLE_EQ(load(10), 8 * 100'000 / 2e6);
}

TEST(PredictRefuses, WhatTheProfileSaysNothingOf) {
  EXPECT_THAT(input_error_of([] { predict(machine(), job(), at(Medium::kNetwork), 2); }),
              AllOf(HasSubstr("machine 'test' says nothing of a network"), HasSubstr("[network]"),
                    HasSubstr("calibrate")));
  EXPECT_THAT(input_error_of([] { predict(machine(), job(), at(Medium::kStorage), 2); }),
              AllOf(HasSubstr("machine 'test' says nothing of storage"), HasSubstr("[storage]"),
                    HasSubstr("`store`")));
  // One rank needs no network.
  EXPECT_NO_THROW(predict(machine(), job(), at(Medium::kNetwork), 1));
}

TEST(PredictRefuses, ShapesThatCannotBe) {
  const auto refused = [](const learn::Shape& shape) {
    Job what = job();
    what.shape = shape;
    return input_error_of([&] { predict(machine(), what, at(Medium::kMemory), 1); });
  };
  EXPECT_THAT(refused({0, 10, 0}),
              AllOf(HasSubstr("0 rows x 10 columns"), HasSubstr("at least one row")));
  EXPECT_THAT(refused({-5, 10, 0}), HasSubstr("at least one row"));
  EXPECT_THAT(refused({10, 0, 0}), HasSubstr("at least one column"));
  EXPECT_THAT(
      refused({10, 10, 101, 2, true}),
      AllOf(HasSubstr("101 values stored"), HasSubstr("no more values than rows x columns")));
  EXPECT_THAT(refused({10, 10, -1, 2, true}), HasSubstr("no more values than rows x columns"));
}

TEST(PredictRefuses, NoWorkers) {
  for (const int workers : {0, -3}) {
    EXPECT_THAT(input_error_of([&] { predict(machine(), job(), at(Medium::kMemory), workers); }),
                HasSubstr(fmt::format("{} workers: expected at least one", workers)));
  }
}

}  // namespace
}  // namespace meanwhile::plan
