#include "meanwhile/plan/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::plan {
namespace {

using ::testing::HasSubstr;

// A run that took `measured` seconds where 10 were predicted.
Audit run(const std::string& learner, double measured, double flops = 0) {
  Audit audit;
  audit.learner = learner;
  audit.runtime = "threads";
  audit.machine = "mine";
  audit.workers = 4;
  audit.rounds = 7;
  audit.seconds = {10, measured};
  audit.seconds_by_phase["work"] = {8, measured - 2};
  audit.seconds_by_phase["load"] = {2, 2};
  audit.bytes = {100, 200};
  audit.requests = {300, 400};
  audit.price = {0.5, 0.25};
  if (flops > 0) audit.rate = {learner, false, 16, 32, flops};
  return audit;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void append(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

class HistoryTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::filesystem::path profile_ = folder_ / "mine.toml";
  const std::filesystem::path record_ = folder_ / "mine.toml.runs.jsonl";
};

TEST_F(HistoryTest, IsBesideTheProfile) { EXPECT_EQ(history_path(profile_), record_); }

TEST_F(HistoryTest, OfNothingIsEmpty) {
  EXPECT_TRUE(recall(profile_).runs.empty());
  EXPECT_TRUE(recall("").runs.empty());
  EXPECT_EQ(recall(profile_).error("kmeans").runs, 0);
  EXPECT_FALSE(std::filesystem::exists(record_));
}

TEST_F(HistoryTest, RecallsAllThatWasRemembered) {
  const Audit first = run("kmeans", 12, 3e9), second = run("svm", 5);
  remember(profile_, first);
  remember(profile_, second);
  const History history = recall(profile_);
  ASSERT_EQ(history.runs.size(), 2U);
  EXPECT_EQ(history.unreadable, 0);
  const Audit& again = history.runs[0];
  EXPECT_EQ(again.learner, "kmeans");
  EXPECT_EQ(again.runtime, "threads");
  EXPECT_EQ(again.machine, "mine");
  EXPECT_EQ(again.workers, 4);
  EXPECT_EQ(again.rounds, 7);
  EXPECT_EQ(again.seconds.predicted, 10);
  EXPECT_EQ(again.seconds.measured, 12);
  ASSERT_EQ(again.seconds_by_phase.size(), 2U);
  EXPECT_EQ(again.seconds_by_phase.at("work").predicted, 8);
  EXPECT_EQ(again.seconds_by_phase.at("work").measured, 10);
  EXPECT_EQ(again.bytes.measured, 200);
  EXPECT_EQ(again.requests.measured, 400);
  EXPECT_EQ(again.price.measured, 0.25);
  EXPECT_EQ(again.rate.kernel, "kmeans");
  EXPECT_FALSE(again.rate.sparse);
  EXPECT_EQ(again.rate.cols, 16);
  EXPECT_EQ(again.rate.outputs, 32);
  EXPECT_EQ(again.rate.flops, 3e9);
  EXPECT_EQ(history.runs[1].learner, "svm");
  EXPECT_EQ(history.runs[1].rate.flops, 0);
  EXPECT_EQ(content_of(record_), to_json(first).dump() + "\n" + to_json(second).dump() + "\n");
}

TEST_F(HistoryTest, LeavesOutLinesItCannotRead) {
  remember(profile_, run("kmeans", 12));
  append(record_,
         "not json\n{\"learner\": 3}\n[1, 2]\n{\"learner\": \"svm\"}\n"
         "{\"learner\": \"svm\", \"seconds\": {\"predicted\": \"ten\"}}\n"
         "{\"learner\": \"svm\", \"seconds\": {}, \"rate\": 5}\n");
  remember(profile_, run("kmeans", 14));
  const History history = recall(profile_);
  EXPECT_EQ(history.unreadable, 6);
  ASSERT_EQ(history.runs.size(), 2U);
  EXPECT_EQ(history.runs[1].seconds.measured, 14);
}

TEST_F(HistoryTest, ALineThatWasCutLosesNoOther) {
  remember(profile_, run("kmeans", 12));
  const std::string whole = to_json(run("kmeans", 13)).dump();
  append(record_, whole.substr(0, whole.size() / 2));
  EXPECT_EQ(recall(profile_).runs.size(), 1U);
  EXPECT_EQ(recall(profile_).unreadable, 1);
  remember(profile_, run("kmeans", 14));
  const History history = recall(profile_);
  EXPECT_EQ(history.unreadable, 1);
  ASSERT_EQ(history.runs.size(), 2U);
  EXPECT_EQ(history.runs[1].seconds.measured, 14);
}

TEST_F(HistoryTest, TakesARecordOfFewerFields) {
  append(record_, "{\"learner\": \"svm\", \"seconds\": {\"predicted\": 2, \"measured\": 3}}\n");
  const History history = recall(profile_);
  ASSERT_EQ(history.runs.size(), 1U);
  EXPECT_EQ(history.runs[0].workers, 1);
  EXPECT_DOUBLE_EQ(history.error("svm").mean, 0.5);
}

TEST_F(HistoryTest, RunsThatEndAtTheSameTimeKeepTheirLinesWhole) {
  constexpr int kRuns = 200;
  const auto remember_all = [&](const std::string& learner) {
    for (int i = 0; i < kRuns; ++i) remember(profile_, run(learner, i));
  };
  {
    const std::jthread a([&] { remember_all("kmeans"); });
    const std::jthread b([&] { remember_all("svm"); });
  }
  const History history = recall(profile_);
  EXPECT_EQ(history.unreadable, 0);
  EXPECT_EQ(history.runs.size(), 2U * kRuns);
  std::map<std::string, double> next;
  for (const Audit& one : history.runs) EXPECT_EQ(one.seconds.measured, next[one.learner]++);
}

// The name of a machine is that of a file, which may be any bytes.
TEST_F(HistoryTest, TakesAnyName) {
  Audit odd = run("kmeans", 12);
  odd.machine = "m\xff";
  remember(profile_, odd);
  EXPECT_EQ(recall(profile_).runs.size(), 1U);
}

TEST_F(HistoryTest, SaysWhenItCannotBeWritten) {
  const std::string message = error_of(base::ErrorKind::kSystem, [&] {
    remember(folder_ / "no such folder" / "mine.toml", run("kmeans", 12));
  });
  EXPECT_THAT(message, HasSubstr("mine.toml.runs.jsonl"));
}

History history_of(const std::vector<Audit>& runs) {
  History history;
  history.runs = runs;
  return history;
}

TEST(HistoryError, IsTheMeanOfWhatWasOff) {
  const auto error =
      history_of({run("kmeans", 12), run("kmeans", 6), run("svm", 100)}).error("kmeans");
  EXPECT_DOUBLE_EQ(error.mean, 0.3);  // +20 % and -40 %
  EXPECT_EQ(error.runs, 2);
  EXPECT_TRUE(error.same_learner);
}

TEST(HistoryError, OfALearnerThatNeverRanIsThatOfAll) {
  const auto error = history_of({run("kmeans", 12), run("svm", 14)}).error("linear");
  EXPECT_DOUBLE_EQ(error.mean, 0.3);
  EXPECT_EQ(error.runs, 2);
  EXPECT_FALSE(error.same_learner);
}

TEST(HistoryError, ForgetsWhatIsLongAgo) {
  std::vector<Audit> runs(50, run("kmeans", 1000));
  runs.insert(runs.end(), 20, run("kmeans", 11));
  const auto error = history_of(runs).error("kmeans");
  EXPECT_NEAR(error.mean, 0.1, 1e-12);
  EXPECT_EQ(error.runs, 20);
}

TEST(HistoryError, LeavesOutRunsOfWhichNothingWasPredicted) {
  Audit nothing = run("kmeans", 5);
  nothing.seconds.predicted = 0;
  const auto error = history_of({run("kmeans", 12), nothing}).error("kmeans");
  EXPECT_EQ(error.runs, 1);
  EXPECT_NEAR(error.mean, 0.2, 1e-12);
}

TEST(Refine, MovesTheRateToWhatWasSeen) {
  Machine machine;
  machine.flops = 1e9;
  refine(machine, history_of({run("kmeans", 12, 4e9)}));
  EXPECT_NEAR(machine.rate("kmeans", false, 16, 32), 4e9, 4);
  EXPECT_EQ(machine.rate("svm", false, 16, 32), 1e9);
}

TEST(Refine, TakesTheLatestOfAShape) {
  Machine machine;
  machine.flops = 1e9;
  Audit wider = run("kmeans", 12, 7e9);
  wider.rate.cols = 1024;
  refine(machine,
         history_of({run("kmeans", 12, 2e9), wider, run("kmeans", 12, 5e9), run("svm", 12)}));
  EXPECT_EQ(machine.rates.size(), 2U);
  EXPECT_NEAR(machine.rate("kmeans", false, 16, 32), 5e9, 0.01 * 5e9);
  EXPECT_NEAR(machine.rate("kmeans", false, 1024, 32), 7e9, 0.01 * 7e9);
}

TEST_F(HistoryTest, WhatWasSeenCountsMoreThanWhatWasTried) {
  remember(profile_, run("kmeans", 12, 4e9));
  Machine machine;
  machine.flops = 1e9;
  machine.rates = {{"kmeans", false, 16, 32, 1e9}};
  refine(machine, recall(profile_));
  const double rate = machine.rate("kmeans", false, 16, 32);
  EXPECT_GT(rate, 2.0e9);  // half way between both, in logarithms
  EXPECT_LT(rate, 4e9);
}

}  // namespace
}  // namespace meanwhile::plan
