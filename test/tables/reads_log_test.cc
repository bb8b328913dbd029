#include "meanwhile/tables/reads_log.h"

#include <gtest/gtest.h>

#include <random>

#include "meanwhile/tables/fixed_point.h"
#include "test/expect_error.h"

namespace meanwhile::tables {
namespace {

using testing::HasSubstr;

// Three readers, staleness 2, lags as the rule allows them.
ReadsLog some_log() {
  ReadsLog log({"svm", "{}", "abc", 7, 5}, 2, 11);
  std::mt19937 random(1);
  for (const std::int64_t clocks : {4, 1}) {
    Stretch stretch{0x1p-30, 3, clocks, {}};
    for (std::int64_t clock = 0; clock < clocks; ++clock) {
      for (int reader = 0; reader < 3; ++reader) {
        for (int slice = 0; slice < 3; ++slice) {
          for (int source = 0; source < 3; ++source) {
            const auto most = std::min<std::int64_t>(clock, 2);
            const auto lag = static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
            stretch.lags.push_back(static_cast<std::int16_t>(source == reader ? 0 : lag));
          }
        }
      }
    }
    log.add(stretch);
  }
  return log;
}

TEST(ReadsLog, IsReadBackWhole) {
  const ReadsLog log = some_log();
  const ReadsLog read = ReadsLog::read(log.bytes(), "reads.bin");
  EXPECT_EQ(read.run(), log.run());
  EXPECT_EQ(read.staleness(), 2);
  EXPECT_EQ(read.stretches().front().readers, 3);
  EXPECT_EQ(read.size(), 11);
  ASSERT_EQ(read.stretches().size(), 2u);
  EXPECT_EQ(read.stretches()[0].lags, log.stretches()[0].lags);
  EXPECT_EQ(read.stretches()[0].grid, 0x1p-30);
  EXPECT_EQ(read.bytes(), log.bytes());
}

// At a store moves are read whole.
TEST(ReadsLog, AStretchOfOneSliceIsReadBackWhole) {
  ReadsLog log({"svm", "{}", "abc", 7, 3}, 2, 11);
  // Three readers, two clocks: reader 0 saw all, 1 lacked a clock of 2, 2 saw reader 0 ahead.
  log.add({0x1p-20, 3, 2, {0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, true});
  const ReadsLog read = ReadsLog::read(log.bytes(), "reads.bin");
  ASSERT_EQ(read.stretches().size(), 1u);
  EXPECT_TRUE(read.stretches()[0].whole);
  EXPECT_EQ(read.stretches()[0].slices(), 1);
  EXPECT_EQ(read.stretches()[0].lags, log.stretches()[0].lags);
  EXPECT_EQ(read.bytes(), log.bytes());
  EXPECT_EQ(staleness_histogram(read), (std::vector<std::int64_t>{11, 1}));
  EXPECT_EQ(waits_of(read).clocks, 6);
  EXPECT_EQ(waits_of(read).saved, 1);
}

// Two readers, three clocks; `worked` by each.
ReadsLog rested(std::vector<std::int64_t> worked) {
  ReadsLog log({"svm", "{}", "abc", 7, 2}, 2, 11);
  Stretch stretch{1, 2, 3, std::vector<std::int16_t>(24, 0)};
  stretch.worked = std::move(worked);
  log.add(stretch);
  return log;
}

TEST(ReadsLog, AReaderThatRestedIsReadBackAndReadsNothing) {
  const ReadsLog log = rested({3, 1});
  const ReadsLog read = ReadsLog::read(log.bytes(), "reads.bin");
  EXPECT_EQ(read.stretches()[0].worked, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(read.stretches()[0].worked_by(1), 1);
  EXPECT_EQ(read.bytes(), log.bytes());
  EXPECT_EQ(staleness_histogram(read), (std::vector<std::int64_t>{8}));
  EXPECT_EQ(waits_of(read).clocks, 4);
}

TEST(ReadsLog, RestsThatNoRunHasAreRefused) {
  for (const std::vector<std::int64_t>& worked :
       {std::vector<std::int64_t>{3}, {3, 0}, {2, 1}, {4, 3}, {3, -1}, {3, 3, 3}}) {
    EXPECT_THAT(input_error_of([&] { ReadsLog::read(rested(worked).bytes(), "reads.bin"); }),
                HasSubstr("worked at"));
  }
  ReadsLog log({"svm", "{}", "abc", 7, 2}, 2, 11);
  Stretch stretch = rested({3, 1}).stretches()[0];
  stretch.lags[stretch.place(2, 1, 0)] = 1;
  log.add(stretch);
  EXPECT_THAT(input_error_of([&] { ReadsLog::read(log.bytes(), "reads.bin"); }),
              HasSubstr("does not allow"));
}

TEST(ReadsLog, EveryFlippedBitIsRefused) {
  const std::vector<std::byte> bytes = some_log().bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i] ^= std::byte{1};
    EXPECT_THAT(input_error_of([&] { ReadsLog::read(damaged, "reads.bin"); }),
                HasSubstr("reads.bin"))
        << i;
  }
}

TEST(ReadsLog, ACutFileIsRefused) {
  const std::vector<std::byte> bytes = some_log().bytes();
  for (std::size_t size = 0; size < bytes.size(); size += 13) {
    input_error_of([&] { ReadsLog::read(std::span(bytes).first(size), "reads.bin"); });
  }
}

TEST(ReadsLog, LagsBeyondTheBoundAreRefused) {
  for (const int lag : {3, -5}) {
    ReadsLog log({"svm", "{}", "abc", 7, 2}, 2, 4);
    Stretch stretch{1, 2, 4, std::vector<std::int16_t>(32, 0)};
    stretch.lags[stretch.place(3, 0, 1) + 1] = static_cast<std::int16_t>(lag);
    log.add(stretch);
    EXPECT_THAT(input_error_of([&] { ReadsLog::read(log.bytes(), "reads.bin"); }),
                HasSubstr("does not allow"));
  }
}

TEST(ReadsLog, AReaderThatMissesItsOwnMovesIsRefused) {
  ReadsLog log({"svm", "{}", "abc", 7, 2}, 2, 4);
  Stretch stretch{1, 2, 2, std::vector<std::int16_t>(16, 0)};
  stretch.lags[stretch.place(1, 0, 1)] = 1;
  log.add(stretch);
  EXPECT_THAT(input_error_of([&] { ReadsLog::read(log.bytes(), "reads.bin"); }),
              HasSubstr("does not allow"));
}

TEST(ReadsLog, CountsTheStalenessOfOthers) {
  ReadsLog log({"svm", "{}", "abc", 7, 2}, 2, 4);
  Stretch stretch{1, 2, 2, std::vector<std::int16_t>(16, 0)};
  stretch.lags[stretch.place(1, 0, 0) + 1] = 1;
  stretch.lags[stretch.place(1, 1, 0)] = -1;  // a source that was ahead
  log.add(stretch);
  EXPECT_EQ(staleness_histogram(log), (std::vector<std::int64_t>{7, 1}));
}

TEST(FixedPoint, SumsDoNotDependOnTheOrder) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> moves(20, std::vector<double>(7));
  double largest = 0;
  for (auto& move : moves) {
    for (double& number : move) largest = std::max(largest, std::abs(number = normal(random)));
  }
  const double grid = grid_for(largest);
  std::vector<std::int64_t> forth(7, 0), back(7, 0);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    add_on_grid(moves[i], grid, forth);
    add_on_grid(moves[moves.size() - 1 - i], grid, back);
  }
  EXPECT_EQ(forth, back);
  double exact = 0;
  for (const auto& move : moves) exact += move[0];
  EXPECT_NEAR(static_cast<double>(forth[0]) * grid, exact, 20 * grid);
}

TEST(FixedPoint, TheGridIsAPowerOfTwoThatHoldsTheLargest) {
  for (const double largest : {1e-300, 1e-9, 0.7, 1.0, 12345.6, 1e200}) {
    const double grid = grid_for(largest);
    EXPECT_LT(largest / grid, std::ldexp(1.0, kGridBits));
    EXPECT_GE(largest / grid, std::ldexp(1.0, kGridBits - 1));
    EXPECT_EQ(std::exp2(std::log2(grid)), grid);
  }
  EXPECT_EQ(grid_for(0), 1);
}

TEST(FixedPoint, NumbersThatAreTooLargeOrNoneAreRefused) {
  std::vector<std::int64_t> sum(1, 0);
  for (const double number : {1e30, -1e30, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(
        error_of(base::ErrorKind::kFailed, [&] { add_on_grid(std::span(&number, 1), 1e-6, sum); }),
        HasSubstr("diverged"));
  }
  sum[0] = INT64_MAX - 1;
  const std::int64_t more = 2;
  EXPECT_THAT(error_of(base::ErrorKind::kFailed, [&] { add_exactly(std::span(&more, 1), sum); }),
              HasSubstr("diverged"));
}

}  // namespace
}  // namespace meanwhile::tables
