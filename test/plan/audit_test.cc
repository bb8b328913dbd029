#include "meanwhile/plan/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/expect_error.h"

namespace meanwhile::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// 4 workers, 8 shards; 2 s of work a round.
Expected expected(Medium medium = Medium::kNetwork) {
  Expected expected;
  Machine& machine = expected.machine;
  machine.name = "mine";
  machine.flops = 1e9;
  machine.disk = 1e6;
  machine.start = 0.5;
  machine.round = 0.01;
  machine.network = Network{1e6, 1e-3, 1e-4};
  Storage storage;
  storage.read = storage.write = 1e6;
  storage.latency = 0.01;
  machine.storage = storage;
  machine.price = {3600, 10, 1};
  expected.job.learner = "kmeans";
  expected.job.shape = {1000, 16, 16'000};
  learn::Cost cost;
  cost.flops = 8e9;
  cost.bytes_read = 64e3;
  cost.update_bytes = 8e3;
  cost.absorb_bytes = 16e3;
  cost.kernel = "kmeans";
  cost.outputs = 32;
  learn::Cost seeding = cost;
  seeding.flops = 1e9;
  expected.job.course = {{learn::Phase::kPrepare, 3, seeding},
                         {learn::Phase::kTrain, 100, cost},
                         {learn::Phase::kScore, 1, seeding}};
  expected.setting.medium = medium;
  expected.setting.shards = 8;
  expected.workers = 4;
  return expected;
}

Measured measured() {
  Measured measured;
  measured.seconds_by_phase.rounds = 20;
  measured.seconds_by_phase.work = 50;
  measured.seconds_by_phase.exchange = 3;
  measured.seconds_by_phase.absorb = 1;
  measured.seconds_by_phase.prepare = 0.9;
  measured.seconds_by_phase.score = 0.4;
  measured.load_s = 0.7;
  return measured;
}

Point predicted(const Expected& expected) {
  return predict(expected.machine, expected.job, expected.setting, expected.workers);
}

TEST(Audit, PartsAddUp) {
  for (const Medium medium : {Medium::kMemory, Medium::kNetwork, Medium::kStorage}) {
    const Audit found = audit(expected(medium), measured());
    double before = 0, after = 0;
    for (const auto& [name, part] : found.seconds_by_phase) {
      before += part.predicted;
      after += part.measured;
    }
    EXPECT_DOUBLE_EQ(found.seconds.predicted, before);
    EXPECT_DOUBLE_EQ(found.seconds.measured, after);
    EXPECT_DOUBLE_EQ(after, 56);
    EXPECT_EQ(found.seconds_by_phase.size(), 6U);
    EXPECT_EQ(found.runtime, job::runtime_name(medium));
  }
}

// A run that converged early is compared with the plan of as many rounds.
TEST(Audit, IsOfTheRoundsThereWere) {
  const Point point = predicted(expected());
  const Audit found = audit(expected(), measured());
  EXPECT_EQ(found.rounds, 20);
  EXPECT_DOUBLE_EQ(found.seconds_by_phase.at("work").predicted, 20 * 2);
  EXPECT_DOUBLE_EQ(found.seconds_by_phase.at("exchange").predicted, 20 * point.round.exchange);
  EXPECT_DOUBLE_EQ(found.seconds_by_phase.at("absorb").predicted, 20 * point.round.absorb);
  EXPECT_DOUBLE_EQ(found.seconds_by_phase.at("load").predicted, point.load);
  EXPECT_DOUBLE_EQ(found.seconds_by_phase.at("prepare").predicted, point.seed);
  EXPECT_DOUBLE_EQ(found.seconds_by_phase.at("score").predicted, point.score);
  EXPECT_DOUBLE_EQ(found.bytes.predicted, 20 * point.round.bytes);
  EXPECT_EQ(found.learner, "kmeans");
  EXPECT_EQ(found.machine, "mine");
  EXPECT_EQ(found.workers, 4);
}

// A resumed run neither seeds nor, when it is stopped, scores.
TEST(Audit, LeavesOutWhatDidNotHappen) {
  Measured resumed = measured();
  resumed.seconds_by_phase.prepare = resumed.seconds_by_phase.score = 0;
  const Audit found = audit(expected(), resumed);
  EXPECT_EQ(found.seconds_by_phase.count("prepare"), 0U);
  EXPECT_EQ(found.seconds_by_phase.count("score"), 0U);
  EXPECT_LT(found.seconds.predicted, audit(expected(), measured()).seconds.predicted);
}

TEST(Audit, SaysWhatStaleness1WouldHaveSaved) {
  Expected run = expected();
  run.may_overlap = true;
  Measured took = measured();
  took.seconds_by_phase.exchange = 23;  // beside 50 s of work, 1 s of absorbing
  const Audit found = audit(run, took);
  ASSERT_TRUE(found.overlapped);
  EXPECT_DOUBLE_EQ(found.overlapped->seconds, 51);
  EXPECT_DOUBLE_EQ(to_json(found)["staleness"]["saved"], 23.0 / 74);
  EXPECT_EQ(to_json(found)["staleness"]["staleness"], 1);
  EXPECT_THAT(to_text(found), HasSubstr("\n--staleness 1 would have saved 31 % of the time\n"));
}

TEST(Audit, SaysNothingOfStalenessThatCannotHelp) {
  const auto expect_silence = [](const Expected& run, double exchange) {
    Measured took = measured();
    took.seconds_by_phase.exchange = exchange;
    const Audit found = audit(run, took);
    EXPECT_FALSE(to_json(found).contains("staleness"));
    EXPECT_THAT(to_text(found), Not(HasSubstr("staleness")));
  };
  expect_silence(expected(), 23);  // the learner waits for every round
  Expected run = expected();
  run.may_overlap = true;
  expect_silence(run, 2);  // below a twentieth
  run.workers = 1;
  expect_silence(run, 23);
  run = expected(Medium::kMemory);
  run.may_overlap = true;
  expect_silence(run, 23);
}

void expect_work_again(Expected expected, const Measured& measured) {
  const Audit found = audit(expected, measured);
  ASSERT_GT(found.rate.flops, 0);
  expected.machine.rates = {found.rate};
  const double rounds = static_cast<double>(measured.seconds_by_phase.rounds);
  EXPECT_NEAR(rounds * predicted(expected).round.work, measured.seconds_by_phase.work,
              1e-6 * measured.seconds_by_phase.work);
}

TEST(Audit, FindsTheRateThatWouldHavePredictedTheWork) {
  for (const double seconds : {0.1, 39.0, 50.0, 4000.0}) {
    SCOPED_TRACE(seconds);
    Measured took = measured();
    took.seconds_by_phase.work = seconds;
    for (const Medium medium : {Medium::kMemory, Medium::kNetwork, Medium::kStorage}) {
      Expected usual = expected(medium);
      expect_work_again(usual, took);
      usual.machine.cores = 2;
      usual.machine.together = 0.7;
      usual.machine.rates = {{"kmeans", false, 4, 4, 3e8}, {"kmeans", false, 99, 99, 6e9}};
      expect_work_again(usual, took);
      usual.job.shape = {1000, 5000, 3000, 2, true};
      expect_work_again(usual, took);
      usual.workers = 3;  // eight shards among three
      expect_work_again(usual, took);
    }
  }
}

// 1 s a round is the memory's, and 0.5 s the rate's.
TEST(Audit, FindsTheRateOfWorkThatWaitsForMemory) {
  Expected slow = expected();
  slow.job.course[1].round.bytes_read = 16e9;
  slow.machine.memory = 4e9;
  slow.machine.flops = 4e9;
  slow.workers = 4;
  EXPECT_DOUBLE_EQ(predicted(slow).round.work, 1);
  Measured took = measured();
  took.seconds_by_phase.work = 20 * 1.5;
  expect_work_again(slow, took);
  took.seconds_by_phase.work = 20 * 4.0;
  expect_work_again(slow, took);
}

TEST(Audit, KnowsNoRateOfARunTooShortToTell) {
  Measured quick = measured();
  quick.seconds_by_phase.work = 0.001;
  EXPECT_EQ(audit(expected(), quick).rate.flops, 0);
}

TEST(Audit, PricesWhatWasMeasured) {
  Measured took = measured();
  took.requests = 2e6;
  const Audit found = audit(expected(Medium::kStorage), took);
  EXPECT_DOUBLE_EQ(found.price.measured, 4 * 56 + 20);  // 1 a second of a worker, 10 a million
  took.price = 7;
  EXPECT_EQ(audit(expected(Medium::kStorage), took).price.measured, 7);
}

TEST(Audit, IsWhatItSays) {
  const Audit found = audit(expected(), measured());
  const std::string text = to_text(found);
  EXPECT_THAT(text,
              StartsWith(fmt::format("predicted {:.3g} s, took 56 s (", found.seconds.predicted)));
  EXPECT_THAT(text, HasSubstr("work 40 s, took 50"));
  EXPECT_THAT(text, HasSubstr("mine"));
  // A part below a fiftieth of all is not worth a word.
  EXPECT_THAT(text, Not(HasSubstr("absorb")));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(ExpectedRound, HasThePartsOfARound) {
  const base::Json json = expected_round(expected(Medium::kStorage));
  const Point point = predicted(expected(Medium::kStorage));
  EXPECT_DOUBLE_EQ(json.at("work").get<double>(), point.round.work);
  EXPECT_DOUBLE_EQ(json.at("exchange").get<double>(), point.round.exchange);
  EXPECT_DOUBLE_EQ(json.at("absorb").get<double>(), point.round.absorb);
  EXPECT_DOUBLE_EQ(json.at("seconds").get<double>(), point.round.seconds());
  EXPECT_DOUBLE_EQ(json.at("requests").get<double>(), point.round.requests);
  EXPECT_DOUBLE_EQ(json.at("bytes").get<double>(), point.round.bytes);
  // A round is not billed by the hour begun.
  EXPECT_NEAR(json.at("price").get<double>(),
              4 * point.round.seconds() + point.round.requests / 1e6 * 10, 1e-9);
  EXPECT_FALSE(expected_round(expected(Medium::kMemory)).contains("requests"));
}

TEST(ExpectedRound, RefusesWhatCannotBePredicted) {
  Expected none = expected();
  none.machine.network.reset();
  EXPECT_THAT(input_error_of([&] { expected_round(none); }), HasSubstr("network"));
}

}  // namespace
}  // namespace meanwhile::plan
