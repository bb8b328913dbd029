#include "meanwhile/plan/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "meanwhile/base/file.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// No field has its default, and no two have the same value.
Machine machine_with_all_fields() {
  Machine machine;
  machine.description = "quotes \" and ' and a \\, a # and \xC3\xBC";
  machine.flops = 1.25e9;
  machine.rates = {{"kmeans", false, 16, 1024, 3.5e9, 2}, {"svm.lbfgs", true, 7.5, 1, 4.5e8, 0.25}};
  machine.cores = 12;
  machine.together = 0.75;
  machine.memory = 9e9;
  machine.disk = 7e8;
  machine.start = 0.125;
  machine.round = 1.5e-5;
  machine.network = Network{1.1e8, 2e-4, 3e-6};
  machine.storage = Storage{6e7, 5e7, 4e7, 3e9, 0.02, 0.3, true, 8};
  machine.price = {0.11, 1.5, 3600};
  machine.error = 0.06;
  return machine;
}

void expect_same(const Rate& a, const Rate& b) {
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.sparse, b.sparse);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.weight, b.weight);
}

void expect_same(const Machine& a, const Machine& b) {
  EXPECT_EQ(a.description, b.description);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.cores, b.cores);
  EXPECT_EQ(a.together, b.together);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.disk, b.disk);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.round, b.round);
  EXPECT_EQ(a.error, b.error);
  ASSERT_EQ(a.network.has_value(), b.network.has_value());
  if (a.network) {
    EXPECT_EQ(a.network->bandwidth, b.network->bandwidth);
    EXPECT_EQ(a.network->latency, b.network->latency);
    EXPECT_EQ(a.network->per_message, b.network->per_message);
  }
  ASSERT_EQ(a.storage.has_value(), b.storage.has_value());
  if (a.storage) {
    EXPECT_EQ(a.storage->read, b.storage->read);
    EXPECT_EQ(a.storage->write, b.storage->write);
    EXPECT_EQ(a.storage->spread, b.storage->spread);
    EXPECT_EQ(a.storage->aggregate, b.storage->aggregate);
    EXPECT_EQ(a.storage->latency, b.storage->latency);
    EXPECT_EQ(a.storage->notice, b.storage->notice);
    EXPECT_EQ(a.storage->separate_reducers, b.storage->separate_reducers);
    EXPECT_EQ(a.storage->value_bytes, b.storage->value_bytes);
  }
  EXPECT_EQ(a.price.hour, b.price.hour);
  EXPECT_EQ(a.price.million_requests, b.price.million_requests);
  EXPECT_EQ(a.price.billed_seconds, b.price.billed_seconds);
  ASSERT_EQ(a.rates.size(), b.rates.size());
  for (std::size_t i = 0; i < a.rates.size(); ++i) expect_same(a.rates[i], b.rates[i]);
}

TEST(Machine, EveryFieldIsReadAsItWasWritten) {
  const std::string text = to_toml(machine_with_all_fields());
  const Machine again = parse_machine(text, "some/folder/mine.v2.toml");
  expect_same(again, machine_with_all_fields());
  EXPECT_EQ(again.name, "mine.v2");
  EXPECT_EQ(to_toml(again), text);
}

TEST(Machine, WhatIsLeftOutIsReadAsLeftOut) {
  Machine least;
  least.flops = 1e9;
  const Machine again = parse_machine(to_toml(least), "least.toml");
  expect_same(again, least);
  EXPECT_FALSE(again.network);
  EXPECT_FALSE(again.storage);
  expect_same(parse_machine("flops = 1e9", "least.toml"), least);
}

// A value that equals a default of another field must not be lost.
TEST(Machine, ZerosAndFalseAreKeptWhereTheyAreNotTheDefault) {
  Machine machine;
  machine.flops = 1e9;
  machine.price.billed_seconds = 0;
  machine.storage = Storage{1e6};
  machine.storage->value_bytes = 0;
  machine.rates = {{"kmeans", false, 1, 1, 1e9, 0}};
  expect_same(parse_machine(to_toml(machine), "zeros.toml"), machine);
}

TEST(Machine, EveryShippedProfileIsReadAndIsWrittenAgain) {
  EXPECT_GE(shipped_machines().size(), 5U);
  for (const ShippedMachine& shipped : shipped_machines()) {
    SCOPED_TRACE(shipped.name);
    const Machine machine = open_machine(std::string(shipped.name));
    EXPECT_EQ(machine.name, shipped.name);
    EXPECT_TRUE(machine.file.empty());
    EXPECT_FALSE(machine.description.empty());
    EXPECT_TRUE(machine.network || machine.storage);
    expect_same(parse_machine(to_toml(machine), "again.toml"), machine);
  }
}

// The message for a profile that is wrong: it names the file and the line.
std::string refused(const std::string& text, int line) {
  const std::string message = input_error_of([&] { parse_machine(text, "m.toml"); });
  EXPECT_THAT(message, StartsWith(fmt::format("m.toml:{}: ", line))) << text;
  return message;
}

TEST(Machine, WhatIsMissingIsNamed) {
  EXPECT_THAT(refused("cores = 2\n", 1),
              HasSubstr(": flops: is missing; expected a number above 0"));
  EXPECT_THAT(refused("", 1), HasSubstr(": flops: is missing; expected a number above 0"));
  EXPECT_THAT(refused("flops = 1\n[network]\nlatency = 1\n", 2),
              HasSubstr(": network.bandwidth: is missing; expected a number above 0"));
  EXPECT_THAT(refused("flops = 1\n\n[storage]\nwrite = 1\n", 3),
              HasSubstr(": storage.read: is missing"));
  EXPECT_THAT(refused("flops = 1\n[[rate]]\nflops = 1\n", 2),
              HasSubstr(": rate.kernel: is missing; expected text"));
  EXPECT_THAT(refused("flops = 1\n[[rate]]\nkernel = 'a'\nflops = 1\n[[rate]]\nkernel = 'b'\n", 5),
              HasSubstr(": rate.flops: is missing; expected a number above 0"));
}

TEST(Machine, ANumberOutOfRangeIsShownWithWhatIsExpected) {
  EXPECT_THAT(refused("flops = -1\n", 1),
              HasSubstr(": flops: found -1, expected a number above 0"));
  EXPECT_THAT(refused("flops = 0\n", 1), HasSubstr("found 0, expected a number above 0"));
  EXPECT_THAT(refused("flops = nan\n", 1), HasSubstr("found nan, expected a number above 0"));
  EXPECT_THAT(refused("flops = inf\n", 1), HasSubstr("found inf, expected a number above 0"));
  EXPECT_THAT(refused("flops = 1\ndisk = -2e6\n", 2),
              HasSubstr(": disk: found -2000000, expected a number that is not negative"));
  EXPECT_THAT(refused("flops = 1\n[storage]\nread = 1\nnotice = -0.5\n", 4),
              HasSubstr(": storage.notice: found -0.5, expected a number that is not negative"));
  EXPECT_THAT(refused("flops = 1\n[price]\nhour = nan\n", 3), HasSubstr(": price.hour: found nan"));
  EXPECT_THAT(refused("flops = 1\ntogether = 0\n", 2),
              HasSubstr(": together: expected more than 0, at most 1"));
  EXPECT_THAT(refused("flops = 1\ntogether = 1.5\n", 2),
              HasSubstr(": together: expected more than 0, at most 1"));
}

TEST(Machine, CoresAreCounted) {
  EXPECT_EQ(parse_machine("flops = 1\ncores = 64\n", "m.toml").cores, 64);
  EXPECT_EQ(parse_machine("flops = 1\ncores = 8.0\n", "m.toml").cores, 8);
  EXPECT_THAT(refused("flops = 1\ncores = 2.5\n", 2),
              HasSubstr(": cores: found 2.5, expected a whole number"));
  EXPECT_THAT(refused("flops = 1\ncores = 1e12\n", 2), HasSubstr(": cores: found 1"));
}

TEST(Machine, AValueOfAnotherTypeIsRefused) {
  EXPECT_THAT(refused("flops = 'fast'\n", 1), HasSubstr(": flops: expected a number"));
  EXPECT_THAT(refused("flops = true\n", 1), HasSubstr(": flops: expected a number"));
  EXPECT_THAT(refused("flops = 1\ndescription = 3\n", 2),
              HasSubstr(": description: expected text"));
  EXPECT_THAT(refused("flops = 1\n[storage]\nread = 1\nseparate_reducers = 1\n", 4),
              HasSubstr(": storage.separate_reducers: expected true or false"));
  EXPECT_THAT(refused("flops = 1\nnetwork = 3\n", 2),
              HasSubstr(": network: expected a table, [network]"));
  EXPECT_THAT(refused("flops = 1\nstorage = []\n", 2),
              HasSubstr(": storage: expected a table, [storage]"));
  EXPECT_THAT(refused("flops = 1\nprice = 0.1\n", 2),
              HasSubstr(": price: expected a table, [price]"));
  EXPECT_THAT(refused("flops = 1\n[rate]\nkernel = 'a'\nflops = 1\n", 2),
              HasSubstr(": rate: expected a list, [[rate]]"));
  EXPECT_THAT(refused("flops = 1\nrate = [1, 2]\n", 2), HasSubstr(": rate: expected a table"));
}

TEST(Machine, AnUnknownFieldIsRefusedWithThoseThereAre) {
  EXPECT_THAT(refused("flops = 1\nflop = 2\n", 2),
              AllOf(HasSubstr(": flop: no such field; there are "), HasSubstr("flops"),
                    HasSubstr("network"), HasSubstr("together")));
  EXPECT_THAT(refused("flops = 1\n[network]\nbandwidth = 1\nspeed = 2\n", 4),
              HasSubstr(": network.speed: no such field; there are bandwidth, latency, "
                        "per_message"));
  EXPECT_THAT(refused("flops = 1\n[[rate]]\nkernel = 'a'\nflops = 1\ncolumns = 2\n", 5),
              HasSubstr(": rate.columns: no such field"));
}

TEST(Machine, TextThatIsNoTomlIsRefused) {
  EXPECT_THAT(refused("flops = 1\ncores = = 2\n", 2), HasSubstr("not TOML: "));
  EXPECT_THAT(refused("flops = 1\nflops = 2\n", 2), HasSubstr("not TOML: "));
  refused("flops = 1\ndescription = \"no end\n", 2);
}

TEST(Machine, IsAFileOrAName) {
  const TemporaryFolder folder;
  base::write_file(folder / "mine.toml", to_toml(machine_with_all_fields()));
  const Machine mine = open_machine((folder / "mine.toml").string());
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.file, folder / "mine.toml");
  expect_same(mine, machine_with_all_fields());

  const std::string message = input_error_of([] { open_machine("azure-smal"); });
  EXPECT_THAT(message, StartsWith("machine 'azure-smal': no such file"));
  for (const ShippedMachine& shipped : shipped_machines()) {
    EXPECT_THAT(message, HasSubstr(std::string(shipped.name)));
  }
  base::write_file(folder / "bad.toml", "flops = 1\nx = 2\n");
  EXPECT_THAT(input_error_of([&] { open_machine((folder / "bad.toml").string()); }),
              StartsWith((folder / "bad.toml").string() + ":2: x: "));
  EXPECT_THAT(input_error_of([&] { open_machine(folder.path().string()); }),
              HasSubstr("is a directory"));
}

Machine with_rates(std::vector<Rate> rates) {
  Machine machine;
  machine.flops = 1e9;
  machine.rates = std::move(rates);
  return machine;
}

TEST(MachineRate, AtAMeasuredPointIsWhatWasMeasured) {
  const Machine machine = with_rates({{"kmeans", false, 16, 32, 2e9},
                                      {"kmeans", false, 16, 256, 6e9},
                                      {"kmeans", false, 128, 32, 3e9}});
  for (const Rate& rate : machine.rates) {
    EXPECT_NEAR(machine.rate("kmeans", false, rate.cols, rate.outputs), rate.flops,
                0.005 * rate.flops);
  }
}

TEST(MachineRate, BetweenTwoIsBetweenThemAndNearerToTheNearer) {
  const Machine machine =
      with_rates({{"kmeans", false, 16, 1, 2e9}, {"kmeans", false, 256, 1, 8e9}});
  double before = machine.rate("kmeans", false, 16, 1);
  for (const double cols : {32, 64, 128, 256}) {
    const double rate = machine.rate("kmeans", false, cols, 1);
    EXPECT_GT(rate, before);
    before = rate;
  }
  // Half way, in logarithms.
  EXPECT_NEAR(machine.rate("kmeans", false, 64, 1), 4e9, 0.05 * 4e9);
}

// A line goes on for ever; a machine does not get faster for ever.
TEST(MachineRate, FarFromAllIsNotFarFromTheirRates) {
  const Machine machine = with_rates({{"kmeans", false, 16, 1, 2e9},
                                      {"kmeans", false, 256, 1, 8e9},
                                      {"kmeans", false, 256, 64, 9e9}});
  for (const double cols : {0.0, 1.0, 1e6, 1e12}) {
    for (const double outputs : {0.0, 1.0, 1e6, 1e12}) {
      const double rate = machine.rate("kmeans", false, cols, outputs);
      EXPECT_GE(rate, 1e9 * 0.999);
      EXPECT_LE(rate, 18e9 * 1.001);
    }
  }
}

// A rate that a profile states is taken to the last bit, wherever it is asked for.
TEST(MachineRate, OfOneIsThatOne) {
  const Machine machine = with_rates({{"kmeans", false, 1000, 1000, 446e6}});
  EXPECT_EQ(machine.rate("kmeans", false, 1000, 1000), 446e6);
  EXPECT_EQ(machine.rate("kmeans", false, 3, 70000), 446e6);
}

TEST(MachineRate, OfAnotherKernelIsThatOfTheMachine) {
  const Machine machine = with_rates({{"kmeans", false, 16, 32, 2e9}});
  EXPECT_EQ(machine.rate("svm.lbfgs", false, 16, 32), 1e9);
  EXPECT_EQ(machine.rate("kmean", false, 16, 32), 1e9);
}

TEST(MachineRate, SparseAndDenseAreApart) {
  const Machine machine =
      with_rates({{"kmeans", false, 16, 32, 2e9}, {"kmeans", true, 16, 32, 5e8}});
  EXPECT_NEAR(machine.rate("kmeans", false, 16, 32), 2e9, 1);
  EXPECT_NEAR(machine.rate("kmeans", true, 16, 32), 5e8, 1);
  EXPECT_EQ(with_rates({{"kmeans", true, 16, 32, 5e8}}).rate("kmeans", false, 16, 32), 1e9);
}

TEST(MachineRate, AHeavierRateCountsMore) {
  const Machine machine =
      with_rates({{"kmeans", false, 16, 32, 2e9, 1}, {"kmeans", false, 16, 32, 4e9, 3}});
  const double rate = machine.rate("kmeans", false, 16, 32);
  EXPECT_GT(rate, 3e9);
  EXPECT_LT(rate, 4e9);
  const Machine none = with_rates({{"kmeans", false, 16, 32, 2e9, 0}});
  EXPECT_EQ(none.rate("kmeans", false, 16, 32), 1e9);
}

}  // namespace
}  // namespace meanwhile::plan
