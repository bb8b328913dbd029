// A run through the library: it has all that a run of the program has, on every runtime.
#include "meanwhile/job/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "meanwhile/base/file.h"
#include "meanwhile/plan/run_planner.h"
#include "meanwhile/runtime/storage/storage_runtime.h"
#include "meanwhile/runtime/threads.h"
#include "test/expect_error.h"
#include "test/job/memory_entry.h"
#include "test/temporary_folder.h"

namespace meanwhile::runtime {
namespace {

namespace fs = std::filesystem;
using job::RunResult;
using job::RunSpec;
using testing::Contains;
using testing::HasSubstr;

// With a learner that has shard memory: a resumed run needs more than the file of its state.
const learn::Registry& registry() {
  static const learn::Registry registry = job::registry_with_memory();
  return registry;
}

// Keeps what it is told, and ends the run after a number of rounds.
class Recorder final : public job::Observer {
 public:
  explicit Recorder(std::int64_t stop_after = 0) : stop_after_(stop_after) {}

  void step(const std::string& what) override { steps.push_back(what); }
  void round(const job::RoundEvent&) override { stop_ = ++rounds == stop_after_; }
  void note(const std::string& text) override { notes.push_back(text); }
  const std::atomic<bool>* begin_rounds() override { return &stop_; }

  std::vector<std::string> steps, notes;
  std::int64_t rounds = 0;

 private:
  const std::int64_t stop_after_;
  std::atomic<bool> stop_ = false;
};

// Ends the run while its rows are read, or before its first round.
class Impatient final : public job::Observer {
 public:
  explicit Impatient(bool waits_for_rows) : stop_(!waits_for_rows) {}

  void loaded(const data::Part&) override { stop_ = true; }
  const std::atomic<bool>* begin_reading() override { return &stop_; }
  const std::atomic<bool>* begin_rounds() override { return &stop_; }

 private:
  std::atomic<bool> stop_;
};

// Expects nothing of a run but that it fails.
class FailingPlanner final : public job::Planner {
 public:
  Json choose(const job::PlannedRun&) override { return {}; }
  Json expect(const job::PlannedRun&, const learn::RoundLearner&) override {
    throw base::Error(base::ErrorKind::kInput, "no such profile");
  }
  std::optional<job::Comparison> compare(const job::TrainResult&, double, const Json&) override {
    return std::nullopt;
  }
};

class Run : public testing::Test {
 protected:
  Run() { write("rows.csv", 1); }

  void write(const std::string& name, int factor) const {
    std::string text = "a,b\n";
    for (int i = 0; i < 90; ++i) text += fmt::format("{},{}\n", factor * i % 31, i * i % 17);
    base::write_file(folder_ / name, text);
  }

  RunSpec spec(const std::string& out, const std::string& learner = "kmeans") const {
    RunSpec spec;
    spec.learner = learner;
    if (learner == "kmeans") {
      spec.parameters = {{"n_clusters", 3}, {"n_init", 1}, {"max_iter", 5}, {"tol", 0}};
    }
    spec.inputs = {folder_ / "rows.csv"};
    spec.seed = 4;
    spec.shards = 5;
    spec.out = folder_ / out;
    spec.checkpoint_seconds = 0;
    spec.command = {"test", "run"};
    return spec;
  }

  StorageRuntime storage(const std::string& name) const {
    const std::string url = (folder_ / name).string();
    const auto location = storage::parse_location(url);
    return {{url, [=] { return std::make_unique<OpenStore>(location, storage::Credentials()); },
             100, [=] { storage::tidy(location); }},
            registry(),
            {.workers = 2, .fixed = true, .lease_s = 5, .timeout_s = 60}};
  }

  static RunResult on_threads(const RunSpec& spec, job::Observer& observer) {
    Threads threads({.threads = 2});
    return job::run(spec, registry(), threads, observer);
  }
  static RunResult on_threads(const RunSpec& spec) {
    job::Observer silent;
    return on_threads(spec, silent);
  }

  TemporaryFolder folder_;
};

TEST_F(Run, KeepsAllThatTheProgramKeeps) {
  Threads threads({.threads = 2});
  Recorder recorder;
  plan::RunPlanner planner([] { return plan::open_machine("generic"); });
  const RunResult result = job::run(spec("run"), registry(), threads, recorder, &planner);
  EXPECT_EQ(result.trained.rounds, 5);
  EXPECT_TRUE(result.trained.done);
  EXPECT_FALSE(result.compared.empty());
  EXPECT_EQ(result.directory, folder_ / "run");
  EXPECT_GE(recorder.rounds, 5);
  EXPECT_THAT(recorder.steps, Contains("reading"));
  const Json record = job::RunDirectory::open(folder_ / "run").run();
  for (const char* key :
       {"audit",   "command", "data",         "ended",      "exchange",       "finished",
        "learner", "machine", "model_sha256", "parameters", "peak_rss_bytes", "predicted",
        "rounds",  "runtime", "seconds",      "seed",       "shards",         "simd",
        "started", "status",  "threads",      "version",    "versions",       "workers"}) {
    EXPECT_TRUE(record.contains(key)) << key;
  }
  EXPECT_FALSE(record.contains("nodes"));
  EXPECT_EQ(record["threads"], 2);
  EXPECT_EQ(record["workers"], 1);
  EXPECT_EQ(record["parameters"]["n_clusters"], 3);
  EXPECT_EQ(record["command"], Json({"test", "run"}));
  EXPECT_EQ(record["model_sha256"], result.trained.model_sha256);
  EXPECT_GE(record["seconds"]["train"].get<double>(), 0);
  EXPECT_GE(record["seconds"]["load"].get<double>(), 0);
  for (const char* file : {"model.safetensors", "metrics.jsonl", "trace.json"}) {
    EXPECT_TRUE(fs::exists(folder_ / "run" / file)) << file;
  }
}

TEST_F(Run, GivesTheSameModelOnEveryRuntime) {
  for (const char* learner : {"kmeans", "running_mean"}) {
    SCOPED_TRACE(learner);
    job::Observer silent;
    const std::string expected =
        on_threads(spec(std::string(learner) + "-threads", learner)).trained.model_sha256;
    for (const job::Exchange exchange : {job::Exchange::kAllreduce, job::Exchange::kTree}) {
      RunSpec asked = spec(std::string(learner) + "-workers", learner);
      asked.exchange = exchange;
      Threads workers({.threads = 3, .as_workers = true, .timeout_s = 20});
      const RunResult result = job::run(asked, registry(), workers, silent);
      EXPECT_EQ(result.trained.model_sha256, expected);
      EXPECT_EQ(result.record["workers"], 3);
      EXPECT_EQ(result.record["threads"], 1);
    }
    StorageRuntime store = storage(std::string(learner) + "-job");
    const RunResult result =
        job::run(spec(std::string(learner) + "-store", learner), registry(), store, silent);
    EXPECT_EQ(result.trained.model_sha256, expected);
    EXPECT_EQ(result.record["workers"], 2);
    EXPECT_TRUE(result.record.contains("bill"));
  }
}

TEST_F(Run, GoesOnWhereItWasInterruptedInPlaceAndElsewhere) {
  for (const char* learner : {"kmeans", "running_mean"}) {
    SCOPED_TRACE(learner);
    const std::string name = learner;
    const std::string expected = on_threads(spec(name, learner)).trained.model_sha256;
    Recorder stops(3);
    const RunResult interrupted = on_threads(spec(name + "-1", learner), stops);
    ASSERT_TRUE(interrupted.trained.interrupted);

    RunSpec elsewhere = spec(name + "-2", learner);
    elsewhere.resume = folder_ / (name + "-1");
    Recorder stops_again(1);
    ASSERT_TRUE(on_threads(elsewhere, stops_again).trained.interrupted);
    fs::remove_all(elsewhere.resume);  // the copy stands by itself

    RunSpec in_place = spec("", learner);
    in_place.out.clear();
    in_place.seed.reset();
    in_place.shards.reset();
    in_place.resume = folder_ / (name + "-2");
    const RunResult result = on_threads(in_place);
    EXPECT_EQ(result.trained.model_sha256, expected);
    EXPECT_EQ(result.directory, in_place.resume);
    EXPECT_EQ(result.record["seed"], 4);
    EXPECT_EQ(result.record["shards"], 5);
  }
}

// Every stretch begins with the memory that the one before has left.
TEST_F(Run, WithMemoryGoesFromThreadsToAStoreAndBack) {
  const auto of_rounds = [&](const std::string& out, int max_iter) {
    RunSpec asked = spec(out, "running_mean");
    asked.parameters = {{"max_iter", max_iter}};
    return asked;
  };
  Recorder stops(3);
  ASSERT_TRUE(on_threads(of_rounds("run", 10), stops).trained.interrupted);
  struct Stretch {
    std::string resume, out;
    int max_iter;
    bool at_store;
  };
  for (const Stretch& stretch : {Stretch{"run", "a", 10, true}, Stretch{"a", "a", 20, true},
                                 Stretch{"a", "b", 25, false}, Stretch{"b", "c", 30, true}}) {
    SCOPED_TRACE(stretch.max_iter);
    RunSpec asked = of_rounds(stretch.out, stretch.max_iter);
    asked.resume = folder_ / stretch.resume;
    job::Observer silent;
    StorageRuntime store = storage("job");
    Threads threads({.threads = 2});
    job::Runtime& runtime = stretch.at_store ? static_cast<job::Runtime&>(store) : threads;
    const RunResult result = job::run(asked, registry(), runtime, silent);
    EXPECT_EQ(result.trained.model_sha256,
              on_threads(of_rounds("whole", stretch.max_iter)).trained.model_sha256);
    EXPECT_EQ(result.trained.rounds, stretch.max_iter);
    int folders = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / stretch.out)) {
      folders += entry.path().extension() == ".memory" ? 1 : 0;
    }
    EXPECT_EQ(folders, 1) << "the memory of the model alone";
  }
}

TEST_F(Run, AtAStoreIsInterruptedAndGoesOnOnThreads) {
  const std::string expected = on_threads(spec("whole", "running_mean")).trained.model_sha256;
  Recorder stops(2);
  ASSERT_TRUE(on_threads(spec("run", "running_mean"), stops).trained.interrupted);
  RunSpec resumed = spec("run", "running_mean");
  resumed.resume = resumed.out;
  Recorder stops_at_store(2);
  StorageRuntime store = storage("job");
  ASSERT_TRUE(job::run(resumed, registry(), store, stops_at_store).trained.interrupted);
  EXPECT_EQ(on_threads(resumed).trained.model_sha256, expected);
}

TEST_F(Run, WithoutItsMemoryIsRefusedByAStore) {
  Recorder stops(3);
  ASSERT_TRUE(on_threads(spec("run", "running_mean"), stops).trained.interrupted);
  RunSpec resumed = spec("run", "running_mean");
  resumed.resume = folder_ / "run";
  fs::remove(folder_ / "run/checkpoints/round-00000003.memory/00002.safetensors");
  StorageRuntime store = storage("job");
  job::Observer silent;
  EXPECT_THAT(input_error_of([&] { job::run(resumed, registry(), store, silent); }),
              HasSubstr("the memory of shard 2 is missing"));
  const OpenStore opened(storage::parse_location((folder_ / "job").string()), {});
  EXPECT_FALSE(find_job(*opened.store.blobs)) << "a job must not begin without its memory";
}

TEST_F(Run, ThatHadFinishedHasNothingLeft) {
  const std::string expected = on_threads(spec("run")).trained.model_sha256;
  RunSpec again = spec("run");
  again.resume = again.out;
  const RunResult result = on_threads(again);
  EXPECT_TRUE(result.nothing_left);
  EXPECT_EQ(result.record["model_sha256"], expected);
}

TEST_F(Run, OnOtherDataIsAWarmStart) {
  on_threads(spec("run"));
  write("other.csv", 3);
  RunSpec other = spec("other");
  other.resume = folder_ / "run";
  other.inputs = {folder_ / "other.csv"};
  Recorder recorder;
  const RunResult result = on_threads(other, recorder);
  EXPECT_FALSE(result.nothing_left);
  EXPECT_THAT(recorder.notes, Contains(HasSubstr("warm start")));
}

TEST_F(Run, InWhichNoRoundBeganLeavesNothing) {
  RunSpec asked = spec("above/run");
  asked.parameters["n_clusters"] = 91;  // more than rows
  EXPECT_THROW(on_threads(asked), base::Error);
  EXPECT_FALSE(fs::exists(folder_ / "above"));
}

TEST_F(Run, IsInterruptedWhileRowsAreReadAndLeavesNothing) {
  for (const auto deal : {data::Deal::kBlocks, data::Deal::kContent}) {
    RunSpec asked = spec("run");
    asked.deal = deal;
    Impatient observer(false);
    try {
      on_threads(asked, observer);
      FAIL() << "nothing was thrown";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::kInterrupted);
      EXPECT_STREQ(error.what(), "interrupted before the first round: there is no model");
    }
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }
}

TEST_F(Run, IsInterruptedWhenRowsAreReadAndCanBeResumed) {
  Impatient observer(true);
  const RunResult result = on_threads(spec("run"), observer);
  EXPECT_TRUE(result.trained.interrupted);
  EXPECT_EQ(result.trained.rounds, 0);
  RunSpec again = spec("run");
  again.resume = again.out;
  EXPECT_EQ(on_threads(again).trained.rounds, 5);
}

// Without an agreement the other workers would wait for the first until the deadline.
TEST_F(Run, FailsOnAllWorkersWhenTheFirstFails) {
  RunSpec asked = spec("run");
  asked.exchange = job::Exchange::kAllreduce;
  Threads workers({.threads = 3, .as_workers = true, .timeout_s = 20});
  job::Observer silent;
  FailingPlanner planner;
  EXPECT_THAT(input_error_of([&] { job::run(asked, registry(), workers, silent, &planner); }),
              HasSubstr("no such profile"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Run, IsCheckedBeforeAnythingIsRead) {
  RunSpec asked = spec("run");
  asked.inputs = {folder_ / "absent.csv"};
  EXPECT_NO_THROW(job::check(asked, registry()));
  asked.parameters["n_cluster"] = 3;
  EXPECT_THAT(usage_error_of([&] { job::check(asked, registry()); }), HasSubstr("n_cluster"));
  asked = spec("rows.csv");
  EXPECT_THAT(usage_error_of([&] { job::check(asked, registry()); }),
              HasSubstr("is not a run directory"));
}

}  // namespace
}  // namespace meanwhile::runtime
