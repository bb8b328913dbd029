#include "meanwhile/job/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <sstream>

#include "meanwhile/base/file.h"
#include "test/job/toy_learner.h"

namespace meanwhile::job {
namespace {

using base::Json;
using learn::Phase;
using testing::HasSubstr;

constexpr std::int64_t kRows = 5000, kCols = 3;

std::vector<Json> metrics_of(const RunDirectory& run) {
  std::istringstream text(base::read_file(run.path() / "metrics.jsonl"));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<std::int64_t> rounds_in_metrics(const RunDirectory& run) {
  std::vector<std::int64_t> rounds;
  for (const Json& line : metrics_of(run)) {
    if (line.contains("round")) rounds.push_back(line["round"]);
  }
  return rounds;
}

std::vector<std::int64_t> one_to(std::int64_t last) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

std::size_t checkpoints_of(const RunDirectory& run) {
  const std::filesystem::path folder = run.path() / "checkpoints";
  if (!std::filesystem::exists(folder)) return 0;
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(Train, ConvergesToTheColumnMeans) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({.max_iter = 200});
  const TrainResult result = train(learner, data, {.threads = 2});
  const auto& x = std::get<data::Dense<float>>(data.x);
  for (std::int64_t j = 0; j < kCols; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < kRows; ++i) sum += x.values[i * kCols + j];
    EXPECT_NEAR(learner.mean[static_cast<std::size_t>(j)], sum / kRows, 1e-9);
  }
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.rounds, 200);
  EXPECT_EQ(result.stopped_because, "max_iter rounds done");
  EXPECT_GT(result.objective, 0);
}

TEST(Train, GivesTheSameBitsForEveryNumberOfWorkers) {
  const data::Dataset data = toy_data(kRows, kCols);
  for (const int shards : {1, 2, 3, 5, 8, 16}) {
    std::set<std::string> models;
    for (const int threads : {1, 2, 3, 5, 8}) {
      ToyLearner learner({});
      models.insert(train(learner, data, {.threads = threads, .shards = shards}).model_sha256);
    }
    EXPECT_EQ(models.size(), 1u) << shards << " shards";
  }
}

TEST(Train, ReportsWhatRanRatherThanWhatWasAsked) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({});
  const TrainResult result = train(learner, data, {.threads = 8, .shards = 3});
  EXPECT_EQ(result.threads, 3);
  EXPECT_EQ(result.shards, 3);
}

TEST(Train, TellsTheObserverOfEveryRoundButCountsTrainingRoundsOnly) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({.max_iter = 4, .seed_steps = 2});
  std::vector<Phase> phases;
  std::vector<std::int64_t> rounds, left;
  train(learner, data, {.threads = 1}, nullptr, nullptr, [&](const RoundEvent& event) {
    phases.push_back(event.outcome.phase);
    rounds.push_back(event.round);
    left.push_back(event.rounds_left);
  });
  EXPECT_EQ(phases, (std::vector{Phase::kPrepare, Phase::kPrepare, Phase::kTrain, Phase::kTrain,
                                 Phase::kTrain, Phase::kTrain, Phase::kScore}));
  EXPECT_EQ(rounds, (std::vector<std::int64_t>{0, 0, 1, 2, 3, 4, 4}));
  EXPECT_EQ(left, (std::vector<std::int64_t>{4, 4, 3, 2, 1, 0, 0}));
}

TEST(Train, RecordsTheRunInItsDirectory) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({.max_iter = 4});
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  const TrainResult result = train(learner, data, {.threads = 2, .seed = 7}, &run);

  const std::vector<Json> lines = metrics_of(run);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0]["phase"], "prepare");
  EXPECT_EQ(lines[0]["steps"], 3);
  EXPECT_EQ(rounds_in_metrics(run), one_to(4));
  EXPECT_TRUE(lines[1].contains("first_mean"));
  EXPECT_TRUE(lines[1].contains("seconds"));
  EXPECT_TRUE(lines[1]["seconds_by_phase"].contains("absorb"));
  EXPECT_LE(lines[1]["elapsed_s"], lines[2]["elapsed_s"]);
  EXPECT_EQ(lines[5]["phase"], "score");
  EXPECT_EQ(lines[5]["objective"], result.objective);

  const Json record = run.run();
  EXPECT_EQ(record["status"], "done");
  EXPECT_EQ(record["finished"], true);
  EXPECT_EQ(record["seed"], 7);
  EXPECT_EQ(record["rounds"], 4);
  EXPECT_EQ(record["model_sha256"], result.model_sha256);
  // So that a later run can tell other data, and one that was resumed with the same.
  const data::SafetensorsFile file(run.path() / "model.safetensors");
  EXPECT_EQ(file.metadata().at("data_sha256"), data::sha256(data, 1));

  const data::SafetensorsFile model(run.path() / "model.safetensors");
  EXPECT_EQ(model.metadata().at("learner"), "toy");
  EXPECT_EQ(rounds_of(model), 4);
  EXPECT_EQ(checkpoints_of(run), 0u);
}

TEST(Train, TracesEachShardOfEachRoundAndPreparingAsOne) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({.max_iter = 4, .seed_steps = 50});
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  train(learner, data, {.threads = 2, .shards = 3, .checkpoint_seconds = 1e9}, &run);
  const Json trace = Json::parse(base::read_file(run.path() / "trace.json"));
  std::map<std::string, int> events;
  for (const Json& event : trace["traceEvents"]) ++events[event["name"].get<std::string>()];
  EXPECT_EQ(events, (std::map<std::string, int>{{"absorb", 5}, {"prepare", 1}, {"work", 15}}));
}

TEST(Train, ResumesAnInterruptedJobToTheSameBits) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner whole({});
  const std::string expected = train(whole, data, {.threads = 2, .shards = 8}).model_sha256;
  // The stop comes at another shard each time, at times before the first round has ended.
  for (const auto& [round, shard] :
       std::vector<std::pair<int, int>>{{1, 0}, {1, 7}, {4, 3}, {10, 2}, {11, 5}}) {
    std::atomic<bool> stop = false;
    ToyLearner first({});
    first.on_work = [&, at_round = round, at_shard = shard](std::int64_t r, int s) {
      if (first.seeded == 3 && r == at_round && s == at_shard) stop = true;
    };
    RunDirectory run = RunDirectory::create(fresh_path("run"));
    const TrainResult interrupted = train(first, data, {.threads = 2, .shards = 8}, &run, &stop);
    EXPECT_TRUE(interrupted.interrupted);
    EXPECT_FALSE(interrupted.done);
    EXPECT_EQ(run.run()["status"], "interrupted");
    EXPECT_FALSE(std::filesystem::exists(run.path() / "model.safetensors"));

    RunDirectory again = RunDirectory::open(run.path());
    const data::SafetensorsFile state(again.newest_state());
    ToyLearner second({});
    second.restore(state);
    const TrainResult result =
        train(second, data, {.threads = 1, .shards = 8, .rounds_done = rounds_of(state)}, &again);
    EXPECT_EQ(result.model_sha256, expected);
    EXPECT_EQ(result.rounds, 10);
    EXPECT_EQ(again.run()["status"], "done");
    EXPECT_EQ(rounds_in_metrics(again), one_to(10));
  }
}

TEST(Train, DropsTheRoundThatWasInterrupted) {
  const data::Dataset data = toy_data(kRows, kCols);
  std::atomic<bool> stop = false;
  ToyLearner learner({});
  learner.on_work = [&](std::int64_t round, int shard) {
    if (round == 5 && shard == 2) stop = true;
  };
  const TrainResult result = train(learner, data, {.threads = 1, .shards = 8}, nullptr, &stop);
  EXPECT_EQ(result.rounds, 4);
  EXPECT_EQ(learner.rounds, 4);
}

// A process that is killed leaves the last checkpoint, and metrics of rounds after it.
TEST(Train, IsInterruptedWithinAShard) {
  const data::Dataset data = toy_data(40 * data::kBlockRows, 2);
  ToyLearner learner({});
  std::atomic<bool> stop = false;
  learner.on_work = [&](std::int64_t round, int) { stop = round == 3; };
  const TrainResult result =
      train(learner, data, {.threads = 1, .shards = 1, .returns_model = true}, nullptr, &stop);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.rounds, 2);
  EXPECT_FALSE(result.model.empty());
  // Three rounds of seeding, two of training, and one block of the third.
  EXPECT_EQ(learner.rows_worked, 5 * rows(data.x) + data::block_rows(rows(data.x)));
}

TEST(Train, ResumesFromTheLastCheckpointAfterAFailure) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner whole({});
  const std::string expected = train(whole, data, {.shards = 8}).model_sha256;

  ToyLearner first({});
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  first.on_work = [](std::int64_t round, int) {
    if (round == 7) throw base::Error(base::ErrorKind::kFailed, "power cut");
  };
  EXPECT_THROW(train(first, data, {.shards = 8, .checkpoint_seconds = 0}, &run), base::Error);
  EXPECT_EQ(run.run()["status"], "failed");
  EXPECT_EQ(checkpoints_of(run), 2u);
  std::filesystem::remove(run.newest_state());  // the newest is lost: there is one before it

  RunDirectory again = RunDirectory::open(run.path());
  const data::SafetensorsFile state(again.newest_state());
  EXPECT_EQ(rounds_of(state), 5);
  ToyLearner second({});
  second.restore(state);
  const TrainResult result =
      train(second, data, {.shards = 8, .rounds_done = rounds_of(state)}, &again);
  EXPECT_EQ(result.model_sha256, expected);
  EXPECT_EQ(rounds_in_metrics(again), one_to(10));
  EXPECT_FALSE(again.run().contains("error"));
}

TEST(Train, StopsAtTheTimeLimitWithAModel) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({.max_iter = 1'000'000'000});
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  const TrainResult result = train(learner, data, {.threads = 1, .time_limit_s = 1e-9}, &run);
  EXPECT_EQ(result.rounds, 1);
  EXPECT_FALSE(result.done);
  EXPECT_FALSE(result.interrupted);
  EXPECT_THAT(result.stopped_because, HasSubstr("time limit of 1e-09 s"));
  EXPECT_TRUE(std::filesystem::exists(run.path() / "model.safetensors"));
  EXPECT_EQ(run.run()["finished"], false);
}

TEST(Train, SaysWhereALearnerFailed) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({});
  learner.on_work = [](std::int64_t round, int shard) {
    if (round == 7 && shard == 3) throw base::Error(base::ErrorKind::kFailed, "overflow");
  };
  try {
    train(learner, data, {.threads = 2, .shards = 8});
    FAIL() << "did not throw";
  } catch (const base::Error& e) {
    EXPECT_STREQ(e.what(), "toy round 7, shard 3: overflow");
    EXPECT_EQ(e.kind(), base::ErrorKind::kFailed);
  }
}

TEST(Train, RefusesAnObjectiveThatIsNotFinite) {
  const data::Dataset data = toy_data(kRows, kCols);
  ToyLearner learner({.max_iter = 100'000, .learning_rate = 1e100});
  try {
    train(learner, data, {});
    FAIL() << "did not throw";
  } catch (const base::Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("not finite"));
    EXPECT_THAT(e.what(), HasSubstr("scale the data"));
  }
}

TEST(Train, ReleasesMappedDataThatIsLargerThanTheLimit) {
  data::Dataset data = toy_data(kRows, kCols);
  const std::int64_t bytes = data::byte_size(data);
  const auto released = [&](bool mapped, std::int64_t limit) {
    data.mapped = mapped;
    ToyLearner learner({.max_iter = 1});
    train(learner, data, {.memory_limit_bytes = limit});
    return learner.attachment.release;
  };
  EXPECT_TRUE(released(true, bytes - 1));
  EXPECT_FALSE(released(true, bytes));
  EXPECT_FALSE(released(false, bytes - 1));
  EXPECT_FALSE(released(true, 0));  // the machine has more than these few kilobytes
}

}  // namespace
}  // namespace meanwhile::job
