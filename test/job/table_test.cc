// Tables: the same bits over threads, workers, exchanges, memory and interruptions, and those of
// plain maps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <thread>
#include <vector>

#include "meanwhile/job/train.h"
#include "meanwhile/learn/state_file.h"
#include "meanwhile/tables/courier.h"
#include "meanwhile/tables/slice_files.h"
#include "meanwhile/transport/threads.h"
#include "test/expect_error.h"
#include "test/job/table_learner.h"
#include "test/job/toy_learner.h"
#include "test/job/train_together.h"

namespace meanwhile::job {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::int64_t kTableRounds = 3, kWords = 90;
constexpr std::int32_t kColumns = 5;
constexpr int kTableShards = 7;

std::vector<Way> all_table_ways() {
  return {{1, 1}, {1, 3}, {2, 1, Exchange::kAllreduce, 8 * 4096}, {3, 2, Exchange::kTree}, {8, 1}};
}

std::unique_ptr<learn::RoundLearner> make_learner() {
  return std::make_unique<TableLearner>(TableParameters{kTableRounds, kWords, kColumns, true});
}

TrainResult train_tables(const data::Dataset& data, const Way& way, RunDirectory* run,
                         const Until& until = {}) {
  return train_together(make_learner, data::whole(data, kTableShards, 3, 1), way, run, until);
}

TEST(Tables, GiveTheSameBitsForEveryNumberOfThreadsAndWorkers) {
  const data::Dataset data = word_data(kWords);
  const std::string expected = train_tables(data, {1, 1}, nullptr).model_sha256;
  for (const Way& way : all_table_ways()) {
    RunDirectory run = RunDirectory::create(fresh_path("run"));
    EXPECT_EQ(train_tables(data, way, &run).model_sha256, expected) << way.workers << " workers";
    EXPECT_FALSE(fs::exists(run.path() / "tables-of-worker-0"));
  }
}

TEST(Tables, AreResumedToTheSameBitsAfterAnInterruptInEveryRound) {
  const data::Part part = data::whole(word_data(kWords), kTableShards, 3, 1);
  expect_same_model_after_interrupts(make_learner, part, all_table_ways(), kTableRounds);
}

// The counts again, with a map and one loop.
TEST(Tables, HoldWhatOneLoopCounts) {
  const data::Dataset data = word_data(kWords);
  const auto& x = std::get<data::Dense<float>>(data.x);
  std::map<std::int64_t, std::vector<std::int64_t>> counts;
  for (std::int64_t round = 0; round < kTableRounds; ++round) {
    const auto before = counts;
    for (std::int64_t i = 0; i < 97; ++i) {
      for (const float value : x.row(i)) {
        const auto word = static_cast<std::int64_t>(value);
        std::int64_t held = 0;
        if (const auto found = before.find(word); found != before.end()) {
          for (const std::int64_t count : found->second) held += count;
        }
        auto& row = counts.try_emplace(word, kColumns, 0).first->second;
        ++row[static_cast<std::size_t>((held + round) % kColumns)];
      }
    }
  }
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  train_tables(data, {3, 1}, &run);
  TableLearner learner({kTableRounds, kWords, kColumns, true});
  const tables::TableSet set(learner.tables());
  tables::SliceStore store(set, 0, 1, {});
  const data::SafetensorsFile model(run.path() / "model.safetensors");
  tables::restore_slices(set, store, run.path() / "model.memory",
                         model.tensor("tables").as<std::int64_t>());
  tables::Courier courier(nullptr, set, store);
  tables::Wants wants(set.tables.size());
  for (std::int64_t word = 0; word < kWords; ++word) wants.add(0, word);
  wants.settle();
  const auto held = courier.fetch({&wants, 1});
  const tables::View view(set.tables, *held);
  for (std::int64_t word = 0; word < kWords; ++word) {
    const auto row = view.row<std::int64_t>(0, word);
    EXPECT_EQ(std::vector<std::int64_t>(row.begin(), row.end()),
              counts.try_emplace(word, kColumns, 0).first->second)
        << "word " << word;
  }
}

TEST(Tables, ThatAreMissingOrForeignAreRefused) {
  const data::Dataset data = word_data(kWords);
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  train_tables(data, {2, 1}, &run, {1, 0});
  const fs::path state = run.newest_state();
  fs::path folder = state;
  folder.replace_extension(".memory");
  const auto refusal = [&] {
    return error_of(base::ErrorKind::kInput, [&] { train_tables(data, {2, 1}, &run); });
  };
  const auto overwrite = fs::copy_options::overwrite_existing;
  fs::copy_file(folder / "counts-00001.safetensors", folder / "counts-00002.safetensors",
                overwrite);
  EXPECT_THAT(refusal(), HasSubstr("counts-00002.safetensors"));
  fs::remove(folder / "counts-00002.safetensors");
  EXPECT_THAT(refusal(), HasSubstr("this slice of a table is missing"));
}

TEST(Tables, WhatAShardThrowsAllWorkersThrow) {
  const data::Dataset data = word_data(kWords);
  const data::Part part = data::whole(data, kTableShards, 3, 1);
  transport::ThreadGroup group(3, 20);
  std::vector<std::string> said(3);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      TableLearner learner({kTableRounds, kWords, kColumns, true});
      learner.on_work = [](int shard) {
        if (shard == 4) throw base::Error(base::ErrorKind::kFailed, "no word is known");
      };
      try {
        train(learner, part, {.threads = 1, .seed = 3, .transport = &group.member(rank)});
      } catch (const base::Error& e) {
        said[static_cast<std::size_t>(rank)] = e.what();
      }
    });
  }
  threads.clear();
  for (const std::string& message : said) {
    EXPECT_THAT(message, HasSubstr("words round 1, shard 4: no word is known"));
  }
}

}  // namespace
}  // namespace meanwhile::job
