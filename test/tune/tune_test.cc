#include "meanwhile/tune/tune.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "meanwhile/base/file.h"
#include "meanwhile/runtime/threads.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Two classes that a line parts, with noise: libsvm.
void write_rows(const std::filesystem::path& path, int rows) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::ofstream file(path);
  for (int i = 0; i < rows; ++i) {
    const double a = normal(random), b = normal(random), noise = normal(random);
    file << (a - b + 0.7 * noise > 0 ? 1 : -1) << " 1:" << a << " 2:" << b << " 3:" << noise * 0.1
         << "\n";
  }
}

class Tuning : public testing::Test {
 protected:
  TuneSpec spec(const std::string& learner, std::vector<Axis> axes) {
    TuneSpec spec{.run = {.learner = learner}, .axes = std::move(axes)};
    spec.run.inputs = {folder_ / "rows.libsvm"};
    spec.run.out = folder_ / "run";
    spec.threads = 1;
    return spec;
  }
  TuneResult result(const TuneSpec& of, int threads = 1) {
    runtime::Threads runtime({.threads = threads});
    job::Observer silent;
    return tune(of, learn::standard_registry(), runtime, silent);
  }

  TemporaryFolder folder_;
};

TEST_F(Tuning, ScoresAreThoseOfModelsThatWereTrainedByHand) {
  write_rows(folder_ / "rows.libsvm", 300);
  TuneSpec asked = spec("logistic", {{"l2", {1e-3, 1e1}}});
  asked.folds = 3;
  asked.run.parameters = {{"tol", 1e-9}, {"solver", "lbfgs"}};
  const TuneResult tuned = result(asked);
  ASSERT_EQ(tuned.folds.of_row.size(), 300U);
  std::ifstream lines(folder_ / "rows.libsvm");
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  for (std::size_t candidate = 0; candidate < 2; ++candidate) {
    for (int fold = 0; fold < 3; ++fold) {
      std::ofstream train(folder_ / "train.libsvm"), test(folder_ / "test.libsvm");
      for (std::size_t i = 0; i < rows.size(); ++i) {
        (tuned.folds.of_row[i] == fold ? test : train) << rows[i] << "\n";
      }
      train.close();
      test.close();
      job::RunSpec run{.learner = "logistic"};
      run.parameters = asked.run.parameters;
      run.parameters["l2"] = asked.axes[0].values[candidate];
      run.inputs = {folder_ / "train.libsvm"};
      run.out = folder_ / "by-hand";
      runtime::Threads runtime({.threads = 1});
      job::Observer silent;
      const auto done = job::run(run, learn::standard_registry(), runtime, silent);
      const auto model = learn::load_model(learn::standard_registry(), done.directory);
      const Json measures = model.model->evaluate(data::read({folder_ / "test.libsvm"}, {}), 1);
      EXPECT_NEAR(tuned.candidates[candidate].scores[static_cast<std::size_t>(fold)],
                  measures["accuracy"].get<double>(), 0.011);
    }
  }
  // Noise is no reason to have hardly any weights.
  EXPECT_EQ(tuned.best, 0U);
}

TEST_F(Tuning, TheWinnerIsTheRunThatTrainMakes) {
  write_rows(folder_ / "rows.libsvm", 200);
  const TuneResult tuned = result(spec("logistic", {{"l2", {1e-4, 1e-2, 1.0}}}), 2);
  job::RunSpec run{.learner = "logistic"};
  run.parameters = {{"l2", tuned.candidates[tuned.best].parameters["l2"]}};
  run.deal = data::Deal::kBlocks;
  run.inputs = {folder_ / "rows.libsvm"};
  run.out = folder_ / "alone";
  runtime::Threads runtime({.threads = 1});
  job::Observer silent;
  const auto alone = job::run(run, learn::standard_registry(), runtime, silent);
  EXPECT_EQ(tuned.run.trained.model_sha256, alone.trained.model_sha256);
  EXPECT_EQ(tuned.run.record["data_sha256"], alone.record["data_sha256"]);
  const Json kept =
      base::parse_json(base::read_file(folder_ / "run" / "tuning.json"), "tuning.json");
  EXPECT_EQ(kept["candidates"].size(), 3U);
  EXPECT_EQ(kept["chosen"], tuned.candidates[tuned.best].parameters);
}

TEST_F(Tuning, NeitherThreadsNorTheOrderOfValuesChangeAScore) {
  write_rows(folder_ / "rows.libsvm", 150);
  TuneSpec one = spec("svm", {{"l2", {1e-4, 1e-2, 1.0}}});
  TuneSpec four = spec("svm", {{"l2", {1.0, 1e-4, 1e-2}}});
  four.threads = 4;
  const TuneResult a = result(one), b = result(four);
  EXPECT_EQ(a.candidates[0].scores, b.candidates[1].scores);
  EXPECT_EQ(a.candidates[2].scores, b.candidates[0].scores);
  EXPECT_EQ(a.candidates[a.best].parameters, b.candidates[b.best].parameters);
}

// Steps of a path are by logarithms, and 0 has none.
TEST_F(Tuning, PenaltiesMayBeUnevenAndNone) {
  write_rows(folder_ / "rows.libsvm", 150);
  TuneSpec asked = spec("logistic", {{"l2", {1.0, 0.9, 1e-3, 5e-4, 0.0}}});
  asked.run.parameters = {{"solver", "lbfgs"}, {"tol", 1e-8}};
  const TuneResult path = result(asked);
  for (std::size_t i = 0; i < 5; ++i) {
    TuneSpec alone = asked;
    alone.axes[0].values = {asked.axes[0].values[i]};
    alone.run.out = folder_ / fmt::format("alone-{}", i);
    const TuneResult one = result(alone);
    const double scored = path.candidates[i].measures["log_loss"].get<double>();
    // Without a penalty these weights have no end.
    const double close = i < 4 ? 1e-4 : 0.2;
    EXPECT_NEAR(scored, one.candidates[0].measures["log_loss"].get<double>(), close) << i;
  }
}

TEST_F(Tuning, OfEqualScoresTheStrongestPenaltyWins) {
  std::ofstream file(folder_ / "rows.libsvm");
  for (int i = 0; i < 40; ++i) file << (i % 2 ? "1 1:5\n" : "-1 1:-5\n");
  file.close();
  const TuneResult tuned = result(spec("logistic", {{"l2", {1e-6, 1e-4, 1e-2}}}));
  EXPECT_EQ(tuned.candidates[tuned.best].score, 1);
  EXPECT_EQ(tuned.candidates[tuned.best].parameters["l2"], 1e-2);
  // The value beside it is as good: nothing speaks for larger ones.
  EXPECT_TRUE(tuned.edges.empty());
}

TEST_F(Tuning, ALossIsBetterWhenItIsLower) {
  write_rows(folder_ / "rows.libsvm", 200);
  TuneSpec asked = spec("logistic", {{"l2", {1e-3, 1e2}}});
  asked.score = "log_loss";
  asked.test_fraction = 0.3;
  const TuneResult tuned = result(asked);
  EXPECT_FALSE(tuned.score.higher);
  EXPECT_LT(tuned.candidates[0].score, tuned.candidates[1].score);
  EXPECT_EQ(tuned.best, 0U);
}

TEST_F(Tuning, NumbersArePredictedByR2) {
  std::ofstream file(folder_ / "rows.libsvm");
  for (int i = 1; i <= 60; ++i) file << 3 * i + i % 2 << " 1:" << i << "\n";
  file.close();
  const TuneResult tuned = result(spec("linear", {{"l2", {1e-6, 1e3}}}));
  EXPECT_EQ(tuned.score.name, "r2");
  EXPECT_EQ(tuned.best, 0U);
  EXPECT_GT(tuned.candidates[0].score, 0.99);
}

TEST_F(Tuning, ClustersAreKeptAsTheyWereJudged) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  std::ofstream file(folder_ / "rows.csv");
  for (int i = 0; i < 400; ++i) {
    file << 20 * (i % 4 % 2) + normal(random) << "," << 20 * (i % 4 / 2) + normal(random) << "\n";
  }
  file.close();
  TuneSpec asked = spec("kmeans", {{"n_clusters", {2, 3, 4, 5, 6}}});
  asked.run.inputs = {folder_ / "rows.csv"};
  const TuneResult tuned = result(asked);
  EXPECT_EQ(tuned.candidates[tuned.best].parameters["n_clusters"], 4);
  EXPECT_EQ(tuned.elbow, tuned.best);
  EXPECT_NEAR(tuned.run.trained.objective,
              tuned.candidates[tuned.best].measures["inertia"].get<double>(),
              1e-9 * tuned.run.trained.objective);
}

TEST_F(Tuning, WhatCannotBeComparedIsRefusedBeforeAnythingIsRead) {
  using Axes = std::vector<Axis>;
  EXPECT_THAT(usage_error_of([&] {
                result(spec("factorize", {{"n_factors", {2, 3}}}));
              }),
              HasSubstr("cannot be compared"));
  EXPECT_THAT(usage_error_of([&] { result(spec("logistic", Axes{})); }),
              HasSubstr("several values"));
  TuneSpec scored = spec("logistic", {{"l2", {1, 2}}});
  scored.score = "acuracy";
  EXPECT_THAT(usage_error_of([&] { result(scored); }),
              AllOf(HasSubstr("did you mean accuracy?"), HasSubstr("log_loss")));
  TuneSpec folded = spec("kmeans", {{"n_clusters", {2, 3}}});
  folded.folds = 5;
  EXPECT_THAT(usage_error_of([&] { result(folded); }), HasSubstr("all rows"));
  TuneSpec both = spec("svm", {{"l2", {1, 2}}});
  both.folds = 5;
  both.test_fraction = 0.5;
  EXPECT_THAT(usage_error_of([&] { result(both); }), HasSubstr("one of them"));
  EXPECT_THAT(usage_error_of([&] { result(spec("svm", {{"l3", {1, 2}}})); }), HasSubstr("`l3`"));
}

}  // namespace
}  // namespace meanwhile::tune
