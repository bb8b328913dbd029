// A run that is killed before any of the calls by which it changes files, the first as the last,
// ends in the same model when it is resumed, and never leaves a directory that is stuck.
#include <gtest/gtest.h>

#include <algorithm>

#include "meanwhile/base/file.h"
#include "meanwhile/job/run.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/state_file.h"
#include "meanwhile/runtime/threads.h"
#include "test/job/killed_process.h"
#include "test/temporary_folder.h"

namespace meanwhile::runtime {
namespace {

namespace fs = std::filesystem;

struct KilledJob {
  const char* name;
  const char* learner;
  const char* file;
  base::Json parameters;
};

void PrintTo(const KilledJob& job, std::ostream* out) { *out << job.name; }

std::vector<KilledJob> jobs() {
  return {
      {"KMeans", "kmeans", "points.csv", {{"n_clusters", 3}, {"max_iter", 3}, {"tol", 0}}},
      {"KMeansConverged", "kmeans", "points.csv", {{"n_clusters", 2}, {"init", "random"}}},
      {"KMeansTrials",
       "kmeans",
       "points.csv",
       {{"n_clusters", 3}, {"max_iter", 2}, {"tol", 0}, {"n_init", 2}, {"init", "random"}}},
      {"KMeansBatches",
       "kmeans",
       "points.csv",
       {{"n_clusters", 3}, {"max_iter", 3}, {"tol", 0}, {"batch_size", 16}, {"init", "random"}}},
      {"KMeansBatchTrials",
       "kmeans",
       "points.csv",
       {{"n_clusters", 3},
        {"max_iter", 2},
        {"tol", 0},
        {"batch_size", 16},
        {"n_init", 2},
        {"init", "random"}}},
      {"SvmSgd", "svm", "classes.csv", {{"solver", "sgd"}, {"max_iter", 3}, {"tol", 0}}},
      {"LogisticLbfgs", "logistic", "classes.csv", {{"solver", "lbfgs"}, {"max_iter", 3}}},
      {"LinearHybrid", "linear", "classes.csv", {{"solver", "hybrid"}, {"max_iter", 3}}},
      {"LogisticConverged", "logistic", "classes.csv", {{"tol", 1}}},
      {"SvmConverged", "svm", "classes.csv", {{"tol", 1}}},
      {"Lda", "lda", "documents.ldac", {{"n_topics", 2}, {"passes", 2}, {"tol", 0}}},
  };
}

class KilledRun : public testing::TestWithParam<KilledJob> {
 protected:
  KilledRun() {
    std::string points = "a,b\n", classes = "a,b,label\n", documents;
    for (int i = 0; i < 60; ++i) {
      points += fmt::format("{},{}\n", i % 31, i * i % 17);
      classes += fmt::format("{},{},{}\n", i % 31, i * i % 17, int{(i % 31 + i * i % 17) > 22});
      documents += fmt::format("3 {}:2 {}:1 {}:3\n", i % 5, 5 + i % 4, 9 + i % 3);
    }
    base::write_file(folder_ / "points.csv", points);
    base::write_file(folder_ / "classes.csv", classes);
    base::write_file(folder_ / "documents.ldac", documents);
  }

  job::RunResult run(const std::string& out, bool resume) const {
    job::RunSpec spec;
    spec.learner = GetParam().learner;
    spec.inputs = {folder_ / GetParam().file};
    if (spec.inputs.front().filename() == "classes.csv") spec.read.label_column = "label";
    spec.checkpoint_seconds = 0;
    if (resume) {
      spec.resume = folder_ / out;
    } else {
      spec.parameters = GetParam().parameters;
      spec.seed = 4;
      spec.shards = 3;
      spec.out = folder_ / out;
    }
    Threads threads({.threads = 1});
    job::Observer silent;
    return job::run(spec, learn::standard_registry(), threads, silent);
  }

  std::string model_of(const std::string& run) const {
    learn::Reading reading;
    const learn::OpenedState state = learn::open_newest(folder_ / run, reading);
    EXPECT_TRUE(reading.notes.empty());
    EXPECT_EQ(state.path.filename(), "model.safetensors");
    return data::sha256(learn::learned_tensors(state.file));
  }

  std::int64_t lines_of(const std::string& run) const {
    const std::string text = base::read_file(folder_ / run / "metrics.jsonl");
    return std::count(text.begin(), text.end(), '\n');
  }

  // Thousands of files, each of which a disk would be waited for.
  const TemporaryFolder folder_{fs::is_directory("/dev/shm") ? "/dev/shm" : testing::TempDir()};
};

TEST_P(KilledRun, GoesOnToTheSameModel) {
  const std::string expected = run("whole", false).trained.model_sha256;
  int calls = 0, kills = 0, ignored = 0;
  ASSERT_EQ(run_and_kill(
                0, [&] { run("alone", false); }, calls),
            Died::kDone);
  // A long run is killed in its last rounds and its finish only.
  for (int n = std::max(1, calls - 80); n <= calls; ++n, ++kills) {
    const std::string name = fmt::format("run-{}", n);
    ASSERT_EQ(run_and_kill(
                  n, [&] { run(name, false); }, ignored),
              Died::kKilled);
    SCOPED_TRACE(fmt::format("killed before call {} of {}", n, calls));
    // Without a run.json the run had not begun: it is begun again in the same place.
    const bool begun = job::RunDirectory::is_run(folder_ / name);
    const job::RunResult again = run(name, begun);
    EXPECT_EQ(model_of(name), expected);
    EXPECT_EQ(lines_of(name), lines_of("whole"));
    EXPECT_EQ(again.record["model_sha256"], expected);
    const base::Json record = job::RunDirectory::open(folder_ / name).run();
    EXPECT_EQ(record["status"], "done");
    EXPECT_EQ(record["model_sha256"], expected);
    // Nothing is left to do, and nothing of the killed process is left.
    EXPECT_TRUE(run(name, true).nothing_left);
    for (const auto& entry : fs::directory_iterator(folder_ / name)) {
      const std::string file = entry.path().filename().string();
      EXPECT_TRUE(file == "run.json" || file == "metrics.jsonl" || file == "trace.json" ||
                  file == "model.safetensors")
          << file;
    }
    fs::remove_all(folder_ / name);
  }
  EXPECT_GT(kills, 40) << "hardly any call was seen";
}

INSTANTIATE_TEST_SUITE_P(Learners, KilledRun, testing::ValuesIn(jobs()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace meanwhile::runtime
