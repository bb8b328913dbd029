#include "meanwhile/plan/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/storage/local.h"
#include "meanwhile/transport/threads.h"
#include "test/temporary_folder.h"

namespace meanwhile::plan {
namespace {

// Times of exchanges on such a network, each off by up to `noise`.
std::vector<MeasuredExchange> exchange_times(const Network& network, int workers,
                                             double noise = 0) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<MeasuredExchange> measured;
  for (const double bytes : {64.0, 4096.0, 65536.0, 262144.0, 1048576.0, 4194304.0}) {
    for (const bool tree : {false, true}) {
      MeasuredExchange one;
      one.cost =
          tree ? exchange::tree_cost(bytes, workers) : exchange::allreduce_cost(bytes, workers);
      one.seconds = (one.cost.waits * network.latency + one.cost.messages * network.per_message +
                     one.cost.bytes / network.bandwidth) *
                    off(random);
      measured.push_back(one);
    }
  }
  return measured;
}

TEST(FitNetwork, FindsTheNetworkThatMadeTheTimes) {
  for (const int workers : {3, 8, 64}) {
    for (const Network& network :
         {Network{1e9, 5e-5, 1e-5}, Network{1.25e8, 2e-4, 5e-5}, Network{1e10, 2e-6, 1e-6}}) {
      SCOPED_TRACE(fmt::format("{} workers, {} bytes/s", workers, network.bandwidth));
      const Network found = fit_network(exchange_times(network, workers));
      EXPECT_NEAR(found.bandwidth, network.bandwidth, 0.01 * network.bandwidth);
      EXPECT_NEAR(found.latency, network.latency, 0.01 * network.latency);
      EXPECT_NEAR(found.per_message, network.per_message, 0.01 * network.per_message);
    }
  }
}

TEST(FitNetwork, FindsItThroughNoise) {
  const Network network{1e9, 5e-5, 1e-5};
  for (const int workers : {3, 8, 64}) {
    const Network found = fit_network(exchange_times(network, workers, 0.05));
    EXPECT_NEAR(found.bandwidth, network.bandwidth, 0.1 * network.bandwidth);
    // Latency and the time of a message are hard to tell apart; what they make together is not.
    for (const MeasuredExchange& one : exchange_times(network, workers)) {
      const double seconds = one.cost.waits * found.latency +
                             one.cost.messages * found.per_message +
                             one.cost.bytes / found.bandwidth;
      EXPECT_NEAR(seconds, one.seconds, 0.06 * one.seconds);
    }
  }
}

TEST(FitNetwork, HasNothingBelowZero) {
  for (const double noise : {0.3, 0.9}) {
    for (const Network& network : {Network{1e9, 0, 1e-5}, Network{1e9, 1e-5, 0}, Network{1e9, 0, 0},
                                   Network{1e15, 1e-4, 0}}) {
      const Network found = fit_network(exchange_times(network, 4, noise));
      EXPECT_GE(found.latency, 0);
      EXPECT_GE(found.per_message, 0);
      EXPECT_GT(found.bandwidth, 0);
      EXPECT_TRUE(std::isfinite(found.bandwidth + found.latency + found.per_message));
    }
  }
}

// Between two workers both exchanges wait and send alike: the constants cannot be told apart.
TEST(FitNetwork, ExplainsTheTimesOfTwo) {
  const Network network{1e9, 5e-5, 1e-5};
  const Network found = fit_network(exchange_times(network, 2));
  for (const MeasuredExchange& one : exchange_times(network, 2)) {
    const double seconds = one.cost.waits * found.latency + one.cost.messages * found.per_message +
                           one.cost.bytes / found.bandwidth;
    EXPECT_NEAR(seconds, one.seconds, 0.01 * one.seconds);
  }
}

CalibrateOptions quick_options() {
  CalibrateOptions options;
  options.quick = true;
  options.seconds = 0.001;
  return options;
}

void expect_usable(const Machine& machine) {
  const auto sound = [](double value) { return std::isfinite(value) && value > 0; };
  EXPECT_PRED1(sound, machine.flops);
  EXPECT_PRED1(sound, machine.memory);
  EXPECT_PRED1(sound, machine.round);
  EXPECT_PRED1(sound, machine.together);
  EXPECT_LE(machine.together, 1);
  EXPECT_FALSE(machine.rates.empty());
  for (const Rate& rate : machine.rates) {
    EXPECT_FALSE(rate.kernel.empty());
    EXPECT_PRED1(sound, rate.flops);
    EXPECT_PRED1(sound, rate.cols);
    EXPECT_PRED1(sound, rate.outputs);
    EXPECT_NEAR(machine.rate(rate.kernel, rate.sparse, rate.cols, rate.outputs, rate.width),
                rate.flops, 0.2 * rate.flops);
  }
  // It can be read again.
  const Machine again = parse_machine(to_toml(machine), "again.toml");
  EXPECT_EQ(again.rates.size(), machine.rates.size());
  EXPECT_NEAR(again.flops, machine.flops, 1e-5 * machine.flops);
}

TEST(Calibrate, OfThisComputerIsUsable) {
  const TemporaryFolder folder;
  storage::Meter meter;
  storage::Store store = storage::open_local("store", folder / "store", meter);
  CalibrateOptions options = quick_options();
  options.threads = 2;
  options.folder = folder.path();
  options.blobs = store.blobs.get();
  options.notice = 0.25;
  std::vector<std::string> said;
  options.say = [&](const std::string& what) { said.push_back(what); };
  const Machine machine = calibrate(learn::standard_registry(), options);
  expect_usable(machine);
  EXPECT_EQ(machine.cores, 2);
  EXPECT_GT(machine.disk, 0);
  EXPECT_FALSE(machine.network);
  ASSERT_TRUE(machine.storage);
  EXPECT_GT(machine.storage->read, 0);
  EXPECT_LT(machine.storage->read, 1e12);  // though a small blob may take longer to be put
  EXPECT_GT(machine.storage->write, 0);
  EXPECT_GT(machine.storage->spread, 0);
  EXPECT_GT(machine.storage->latency, 0);
  EXPECT_EQ(machine.storage->notice, 0.25);
  EXPECT_EQ(machine.storage->aggregate, 0);  // one alone cannot see it
  EXPECT_THAT(said, ::testing::IsSupersetOf({"memory", "disk", "kmeans", "svm", "storage"}));
  // Nothing is left behind.
  EXPECT_TRUE(store.blobs->list("").empty());
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().filename(), "store");
  }
}

TEST(Calibrate, WithoutAFolderTriesNoDisk) {
  const Machine machine = calibrate(learn::standard_registry(), quick_options());
  expect_usable(machine);
  EXPECT_EQ(machine.disk, 0);
  EXPECT_EQ(machine.together, 1);
  EXPECT_FALSE(machine.network);
  EXPECT_FALSE(machine.storage);
}

TEST(Calibrate, OfSeveralRanksIsTheSameForAll) {
  constexpr int kRanks = 3;
  const TemporaryFolder folder;
  transport::ThreadGroup group(kRanks);
  std::vector<std::string> profiles(kRanks);
  std::vector<Machine> machines(kRanks);
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        transport::Transport& transport = group.member(rank);
        try {
          storage::Meter meter;
          storage::Store store = storage::open_local("store", folder / "store", meter);
          CalibrateOptions options = quick_options();
          options.transport = &transport;
          options.folder = folder.path();
          options.blobs = store.blobs.get();
          Machine& machine = machines[static_cast<std::size_t>(rank)];
          machine = calibrate(learn::standard_registry(), options);
          profiles[static_cast<std::size_t>(rank)] = to_toml(machine);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "rank " << rank << ": " << e.what();
          transport.fail(base::ErrorKind::kFailed, e.what());
        }
      });
    }
  }
  const Machine& machine = machines[0];
  expect_usable(machine);
  EXPECT_EQ(machine.cores, 0);
  EXPECT_GT(machine.disk, 0);
  ASSERT_TRUE(machine.network);
  EXPECT_GT(machine.network->bandwidth, 0);
  EXPECT_GE(machine.network->latency, 0);
  EXPECT_GE(machine.network->per_message, 0);
  ASSERT_TRUE(machine.storage);
  EXPECT_GT(machine.storage->read, 0);
  for (const std::string& profile : profiles) EXPECT_EQ(profile, profiles[0]);
}

}  // namespace
}  // namespace meanwhile::plan
