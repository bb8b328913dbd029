#include "meanwhile/job/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "meanwhile/base/file.h"
#include "test/job/toy_learner.h"

namespace meanwhile::job {
namespace {

using base::Json;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<double> numbers(double first) { return {first, first + 1, first + 2}; }

learn::State state_of(const std::vector<double>& values) {
  learn::State state;
  state.learner = "toy";
  state.learned["mean"] = data::tensor_of<double>(values, {3});
  state.carried["mean"] = data::tensor_of<double>(values, {3});  // the same name, kept apart
  state.parameters = {{"tol", 0.5}};
  state.progress = {{"step", 3}};
  return state;
}

std::string message_of(const std::function<void()>& call, base::ErrorKind kind) {
  try {
    call();
  } catch (const base::Error& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
  ADD_FAILURE() << "did not throw";
  return "";
}

TEST(RunDirectory, KeepsAnOlderRunOfTheSameNameAside) {
  const fs::path path = fresh_path("deep/run");
  for (int i = 0; i < 3; ++i) RunDirectory::create(path).write_run({{"i", i}});
  EXPECT_EQ(RunDirectory::open(path).run()["i"], 2);
  EXPECT_EQ(RunDirectory::open(path.string() + ".1").run()["i"], 0);
  EXPECT_EQ(RunDirectory::open(path.string() + ".2").run()["i"], 1);
}

TEST(RunDirectory, PutsTheOlderRunBackWhenDiscarded) {
  const fs::path path = fresh_path("run");
  RunDirectory::create(path).write_run({{"i", 1}});
  RunDirectory::create(path.string() + "/").discard();
  EXPECT_EQ(RunDirectory::open(path).run()["i"], 1);
  EXPECT_FALSE(fs::exists(path.string() + ".1"));
  const fs::path deep = fresh_path("a") / "b/c";
  RunDirectory::create(deep).discard();
  EXPECT_FALSE(fs::exists(deep.parent_path().parent_path()));
  EXPECT_TRUE(fs::exists(deep.parent_path().parent_path().parent_path()));
}

TEST(RunDirectory, RefusesToTakeOverWhatIsNotARun) {
  const fs::path path = fresh_path("thesis");
  fs::create_directories(path);
  EXPECT_NO_THROW(RunDirectory::create(path));  // empty: nothing to lose
  const fs::path file = fresh_path("data.csv");
  base::write_file(file, "1,2\n");
  EXPECT_THAT(message_of([&] { RunDirectory::create(file); }, base::ErrorKind::kUsage),
              HasSubstr("not a run directory"));
  const fs::path folder = fresh_path("photos");
  fs::create_directories(folder);
  base::write_file(folder / "a.txt", "a");
  EXPECT_THAT(message_of([&] { RunDirectory::create(folder); }, base::ErrorKind::kUsage),
              HasSubstr("not a run directory"));
  EXPECT_TRUE(fs::exists(folder / "a.txt"));
}

TEST(RunDirectory, CannotBeOpenedWhereThereIsNone) {
  EXPECT_THAT(message_of([] { RunDirectory::open(fresh_path("none")); }, base::ErrorKind::kInput),
              HasSubstr("no run.json"));
}

TEST(RunDirectory, MergesWhatIsWrittenToRunJson) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  run.write_run({{"status", "running"}, {"error", "x"}, {"seconds", {{"load", 1}}}});
  run.write_run({{"status", "done"}, {"error", nullptr}, {"seconds", {{"train", 2}}}});
  const Json all = run.run();
  EXPECT_EQ(all["status"], "done");
  EXPECT_FALSE(all.contains("error"));
  EXPECT_EQ(all["seconds"], (Json{{"load", 1}, {"train", 2}}));
}

TEST(RunDirectory, StoresWhatIsNotUtf8WithoutFailing) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  run.write_run({{"command", "points-\xff.npy"}});
  EXPECT_THAT(run.run()["command"].get<std::string>(), HasSubstr("points-"));
}

TEST(RunDirectory, SaysThatRunJsonIsBroken) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  base::write_file(run.path() / "run.json", "{\"status\":");
  EXPECT_THAT(message_of([&] { RunDirectory::open(run.path()); }, base::ErrorKind::kInput),
              HasSubstr("run.json"));
}

TEST(RunDirectory, FindsTheStateWithMostRounds) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  EXPECT_THAT(message_of([&] { run.newest_state(); }, base::ErrorKind::kInput),
              HasSubstr("neither a model nor a checkpoint"));
  const std::vector<double> values = numbers(1);
  run.write_checkpoint(9, state_of(values));
  run.write_checkpoint(10, state_of(values));
  run.write_checkpoint(100, state_of(values));
  EXPECT_EQ(run.newest_state().filename(), "round-00000100.safetensors");
  EXPECT_FALSE(fs::exists(run.path() / "checkpoints/round-00000009.safetensors"));
  EXPECT_TRUE(fs::exists(run.path() / "checkpoints/round-00000010.safetensors"));
  run.write_model(101, state_of(values));
  EXPECT_EQ(run.newest_state().filename(), "model.safetensors");
  EXPECT_FALSE(fs::exists(run.path() / "checkpoints"));
  run.write_checkpoint(101, state_of(values));
  EXPECT_EQ(run.newest_state().filename(), "model.safetensors");
  // A run that has begun with other data, and not yet done a round.
  run.write_model(101, state_of(values), "before");
  run.write_checkpoint(101, state_of(values), "after");
  EXPECT_EQ(run.newest_state().filename(), "round-00000101.safetensors");
  run.write_checkpoint(101, state_of(values), "before");
  EXPECT_EQ(run.newest_state().filename(), "model.safetensors");
  run.write_checkpoint(102, state_of(values));
  EXPECT_EQ(run.newest_state().filename(), "round-00000102.safetensors");
}

TEST(RunDirectory, FallsBackToTheCheckpointBeforeABrokenOne) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  const std::vector<double> values = numbers(1);
  run.write_checkpoint(1, state_of(values));
  run.write_checkpoint(2, state_of(values));
  fs::resize_file(run.path() / "checkpoints/round-00000002.safetensors", 100);
  EXPECT_EQ(run.newest_state().filename(), "round-00000001.safetensors");
  fs::resize_file(run.path() / "checkpoints/round-00000001.safetensors", 100);
  EXPECT_THAT(message_of([&] { run.newest_state(); }, base::ErrorKind::kInput),
              HasSubstr(".safetensors"));
}

TEST(RunDirectory, IsWrittenByOneProcessAtATime) {
  const fs::path path = fresh_path("run");
  std::optional<RunDirectory> writer = RunDirectory::create(path);
  const auto is_refused = [&](const std::function<void()>& write) {
    EXPECT_THAT(message_of(write, base::ErrorKind::kUsage),
                HasSubstr(fmt::format("run: is being written by process {} on ", getpid())));
  };
  is_refused([&] { RunDirectory::create(path); });
  is_refused([&] { RunDirectory::open(path).lock(); });
  EXPECT_NO_THROW(RunDirectory::open(path)) << "may be read meanwhile";
  std::optional<RunDirectory> copy = writer;
  writer.reset();
  is_refused([&] { RunDirectory::create(path); });
  copy.reset();
  EXPECT_FALSE(fs::exists(path / "lock"));
  EXPECT_NO_THROW(RunDirectory::open(path).lock());
  EXPECT_EQ(RunDirectory::create(path).aside(), path.string() + ".1");
}

TEST(RunDirectory, TakesALockThatAKilledProcessLeft) {
  const fs::path path = fresh_path("run");
  RunDirectory::create(path);
  base::write_file(path / "lock", "process 1 on elsewhere");
  RunDirectory run = RunDirectory::open(path);
  run.lock();
  EXPECT_THAT(base::read_file(path / "lock"), HasSubstr(fmt::format("process {} on", getpid())));
}

TEST(RunDirectory, TakesADirectoryThatHoldsOnlyWhatAKilledProcessLeft) {
  const fs::path path = fresh_path("run");
  fs::create_directories(path);
  base::write_file(path / "run.json.partial", "{");
  base::write_file(path / "run.json.12ab.partial", "{");
  base::write_file(path / "lock", "");
  EXPECT_TRUE(RunDirectory::is_free(path));
  RunDirectory run = RunDirectory::create(path);
  EXPECT_TRUE(run.aside().empty());
  EXPECT_FALSE(fs::exists(path / "run.json.partial"));
  EXPECT_FALSE(fs::exists(path / "run.json.12ab.partial"));
  base::write_file(path / "notes.txt", "mine");
  EXPECT_FALSE(RunDirectory::is_free(path));
}

TEST(RunDirectory, RemovesPartialFilesWhenItIsLocked) {
  const fs::path path = fresh_path("run");
  RunDirectory::create(path).write_checkpoint(1, state_of(numbers(1)));
  base::write_file(path / "model.safetensors.1.partial", "half");
  base::write_file(path / "checkpoints/round-00000002.safetensors.1.partial", "half");
  RunDirectory run = RunDirectory::open(path);
  EXPECT_TRUE(fs::exists(path / "model.safetensors.1.partial"));
  run.lock();
  EXPECT_FALSE(fs::exists(path / "model.safetensors.1.partial"));
  EXPECT_FALSE(fs::exists(path / "checkpoints/round-00000002.safetensors.1.partial"));
  EXPECT_TRUE(fs::exists(path / "checkpoints/round-00000001.safetensors"));
}

TEST(RunDirectory, KeepsTheLinesOfMetricsThatAStateCounts) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  run.keep_metrics(0);
  run.append_metrics({{"round", 1}, {"elapsed_s", 0.5}});
  run.append_metrics({{"phase", "score"}});
  run.write_checkpoint(1, state_of(numbers(1)));
  run.append_metrics({{"phase", "prepare"}});
  run.append_metrics({{"round", 2}, {"elapsed_s", 1.5}});
  const std::int64_t lines = learn::metrics_lines_of(learn::open_state(run.newest_state()));
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(run.keep_metrics(1, lines), 0.5);
  const std::string text = base::read_file(run.path() / "metrics.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr("score"));
}

TEST(RunDirectory, DropsMetricsOfRoundsThatWillBeDoneAgain) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  EXPECT_EQ(run.keep_metrics(3), 0);
  run.append_metrics({{"phase", "prepare"}});
  for (int round = 1; round <= 5; ++round) {
    run.append_metrics({{"round", round}, {"elapsed_s", round * 0.5}});
  }
  run.append_metrics({{"phase", "score"}});
  std::ofstream(run.path() / "metrics.jsonl", std::ios::app) << "{\"round\": 6, \"obj";
  EXPECT_EQ(run.keep_metrics(4), 2.0);
  const std::string text = base::read_file(run.path() / "metrics.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_THAT(text, HasSubstr("prepare"));
  EXPECT_THAT(text, testing::Not(HasSubstr("\"round\":5")));
  EXPECT_EQ(run.keep_metrics(0), 0);
  EXPECT_EQ(base::read_file(run.path() / "metrics.jsonl"), "");
}

TEST(WriteState, KeepsLearnedAndCarriedApart) {
  const fs::path path = fresh_path("state.safetensors");
  const std::vector<double> learned = numbers(1), carried = numbers(10);
  learn::State state = state_of(learned);
  state.carried["mean"] = data::tensor_of<double>(carried, {3});
  write_state(path, state, 12);
  const data::SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("mean").as<double>()[0], 1);
  EXPECT_EQ(file.tensor("carried/mean").as<double>()[0], 10);
  EXPECT_EQ(rounds_of(file), 12);
  const data::Metadata& metadata = file.metadata();
  EXPECT_EQ(metadata.at("kind"), "model");
  EXPECT_EQ(metadata.at("learner"), "toy");
  EXPECT_EQ(Json::parse(metadata.at("parameters")), Json({{"tol", 0.5}}));
  EXPECT_EQ(Json::parse(metadata.at("progress")), Json({{"step", 3}}));
  EXPECT_EQ(metadata.at("format_version"), "1");
}

}  // namespace
}  // namespace meanwhile::job
