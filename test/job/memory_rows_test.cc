// Runs on rows in memory, and runs without a directory.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/load_memory.h"
#include "meanwhile/job/run.h"
#include "meanwhile/job/save_run.h"
#include "meanwhile/learn/fit_columns.h"
#include "meanwhile/runtime/threads.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::job {

namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 300, kCols = 3;

std::vector<float> numbers(int seed) {
  std::vector<float> values(kRows * kCols);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(seed)) % 101);
  }
  return values;
}

data::Dataset rows_of(const std::vector<float>& values) {
  data::Dataset data;
  data.x = data::Dense<float>{values.data(), kRows, kCols};
  return data;
}

RunSpec spec_of(const std::vector<float>& values, int rounds) {
  RunSpec spec;
  spec.learner = "kmeans";
  spec.parameters = {{"n_clusters", 5}, {"max_iter", rounds}, {"n_init", 1}, {"tol", 0}};
  spec.rows = rows_of(values);
  spec.seed = 7;
  spec.deal = data::Deal::kBlocks;  // by content, rows move
  spec.keeps_directory = false;
  return spec;
}

class Watch final : public Observer {
 public:
  void loaded(const data::Part& part) override {
    values = std::get<data::Dense<float>>(part.data.x).values;
  }
  const float* values = nullptr;
};

RunResult run_here(const RunSpec& spec, Observer& observer) {
  runtime::Threads threads({.threads = 2});
  return run(spec, learn::standard_registry(), threads, observer);
}
RunResult run_here(const RunSpec& spec) {
  Observer silent;
  return run_here(spec, silent);
}

data::SafetensorsFile opened(const RunResult& result) { return {result.model, "model"}; }

TEST(MemoryRows, GiveTheModelOfTheirFile) {
  const TemporaryFolder folder;
  const std::vector<float> values = numbers(1);
  data::write_safetensors(folder / "x.safetensors",
                          {{"x", data::tensor_of(std::span<const float>(values), {kRows, kCols})}},
                          {});
  RunSpec of_file = spec_of(values, 4);
  of_file.rows.reset();
  of_file.inputs = {folder / "x.safetensors"};
  Watch watch;
  const RunResult a = run_here(spec_of(values, 4), watch), b = run_here(of_file);
  EXPECT_EQ(watch.values, values.data());
  EXPECT_EQ(a.record["data"]["sha256"], b.record["data"]["sha256"]);
  EXPECT_EQ(a.record["model_sha256"], b.record["model_sha256"]);
  EXPECT_EQ(a.record["data"]["from"], "memory");
  EXPECT_EQ(data::sha256(learn::learned_tensors(opened(a))), a.trained.model_sha256);
}

TEST(MemoryRows, WriteNothingWithoutADirectory) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const RunResult result = run_here(spec_of(numbers(1), 2));
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(result.model.empty());
  EXPECT_EQ(result.directory, "");
}

TEST(MemoryRows, BeginFromAModelOnOtherRows) {
  const RunResult first = run_here(spec_of(numbers(1), 2));
  const std::vector<float> other = numbers(50);
  RunSpec more = spec_of(other, 3);
  const data::SafetensorsFile model = opened(first);
  more.start = {std::shared_ptr<void>(), &model};
  EXPECT_NE(run_here(more).trained.model_sha256, run_here(spec_of(other, 3)).trained.model_sha256);
  more.learner = "svm";
  more.parameters = base::Json::object();
  EXPECT_THAT(usage_error_of([&] { run_here(more); }),
              HasSubstr("is a model of kmeans, not of svm"));
}

TEST(MemoryRows, ResumeOnlyOnTheSameRows) {
  const TemporaryFolder folder;
  const std::vector<float> values = numbers(1), other = numbers(2);
  RunSpec spec = spec_of(values, 2);
  spec.keeps_directory = true;
  spec.out = folder / "run";
  run_here(spec);
  RunSpec more = spec_of(values, 5);
  more.keeps_directory = true;
  more.resume = more.out = folder / "run";
  RunSpec wrong = more;
  wrong.rows = rows_of(other);
  EXPECT_THAT(input_error_of([&] { run_here(wrong); }), HasSubstr("these are not the rows of"));
  EXPECT_EQ(run_here(more).trained.model_sha256, run_here(spec_of(values, 5)).trained.model_sha256);
}

TEST(MemoryRows, AreSavedAsARunThatPredicts) {
  const TemporaryFolder folder;
  const std::vector<float> values = numbers(1);
  const RunResult result = run_here(spec_of(values, 3));
  save_run(folder / "run", opened(result), result.record, {{{"round", 1}, {"objective", 2.5}}});
  const auto loaded = learn::load_model(learn::standard_registry(), folder / "run");
  const data::Dataset rows = learn::fit_columns(rows_of(values), loaded, 1);
  EXPECT_EQ(loaded.model->predict(rows, 1).values.size(), std::size_t{kRows});
  data::Dataset narrow = rows_of(values);
  narrow.x = data::Dense<float>{values.data(), kRows, kCols - 1};
  EXPECT_THAT(input_error_of([&] { learn::fit_columns(narrow, loaded, 1); }),
              HasSubstr("2 columns, but the model was made from 3"));
}

TEST(MemoryRows, AreCheckedAsFilesAre) {
  std::vector<float> values = numbers(1);
  values[7] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(input_error_of([&] { run_here(spec_of(values, 1)); }), HasSubstr("row 2, column 1"));
  data::Dataset empty;
  empty.x = data::Dense<float>{nullptr, 0, 3};
  EXPECT_THAT(input_error_of([&] { check_rows(empty, "X", 1); }), HasSubstr("X: has no rows"));
  const std::vector<std::int64_t> starts = {0, 2};
  const std::vector<std::int32_t> columns = {0, 3};
  const std::vector<double> ones = {1, 1};
  const data::Sparse<double> sparse{starts.data(), columns.data(), ones.data(), 1, 3};
  EXPECT_THAT(input_error_of([&] { check_columns(sparse, 1); }), HasSubstr("column 3 of 3"));
}

}  // namespace

}  // namespace meanwhile::job
