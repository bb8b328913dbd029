// Shard memory: the same bits over threads, workers, exchanges and interruptions at every round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "meanwhile/job/memory_files.h"
#include "meanwhile/job/train.h"
#include "test/expect_error.h"
#include "test/job/memory_learner.h"
#include "test/job/toy_learner.h"
#include "test/job/train_together.h"

namespace meanwhile::job {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::int64_t kRounds = 7;
constexpr int kShards = 5;

std::vector<Way> all_ways() { return {{1, 1}, {1, 3}, {2, 1}, {3, 2, Exchange::kTree}, {8, 1}}; }

std::unique_ptr<learn::RoundLearner> make_learner() {
  return std::make_unique<MemoryLearner>(kRounds);
}

TrainResult train_on(const data::Dataset& data, const Way& way, RunDirectory* run,
                     const Until& until = {}) {
  return train_together(make_learner, data::whole(data, kShards, 3, 1), way, run, until);
}

std::string expected_model(const data::Dataset& data) {
  return train_on(data, {1, 1}, nullptr).model_sha256;
}

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(Memory, GivesTheSameBitsForEveryNumberOfThreadsAndWorkers) {
  const data::Dataset data = toy_data(503, 1);
  const std::string expected = expected_model(data);
  for (const Way& way : all_ways()) {
    EXPECT_EQ(train_on(data, way, nullptr).model_sha256, expected) << way.workers << " workers";
  }
}

TEST(Memory, IsResumedToTheSameBitsAfterAnInterruptInEveryRound) {
  const data::Part part = data::whole(toy_data(503, 1), kShards, 3, 1);
  expect_same_model_after_interrupts(make_learner, part, all_ways(), kRounds);
}

TEST(Memory, IsResumedFromEveryCheckpointThatAnotherFollowed) {
  const data::Dataset data = toy_data(503, 1);
  const std::string expected = expected_model(data);
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  train_on(data, {2, 1}, &run, {3, 0});  // all stop after the round that follows
  const fs::path folder = run.path() / "checkpoints";
  EXPECT_EQ(entries_in(folder), 4u) << "two states, each with its memory";
  EXPECT_EQ(entries_in(folder / "round-00000004.memory"), static_cast<std::size_t>(kShards));
  fs::remove(folder / "round-00000004.safetensors");  // as if it was killed before the state
  EXPECT_EQ(train_on(data, {3, 1}, &run, {0, 0}).model_sha256, expected);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(entries_in(run.path() / "model.memory"), static_cast<std::size_t>(kShards));
}

TEST(Memory, OfARunThatIsOverGoesOnWithMoreRounds) {
  const data::Dataset data = toy_data(300, 1);
  const data::Part part = data::whole(data, kShards, 3, 1);
  MemoryLearner all(2 * kRounds);
  const std::string expected = train(all, part, {.seed = 3}).model_sha256;
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  train_on(data, {1, 1}, &run);
  const fs::path state = run.newest_state();
  for (int again = 0; again < 2; ++again) {
    MemoryLearner more(2 * kRounds);
    more.restore(data::SafetensorsFile(state));
    const TrainOptions options{.seed = 3, .rounds_done = kRounds, .resumed_from = state};
    EXPECT_EQ(train(more, part, options).model_sha256, expected);
  }
}

TEST(Memory, IsWrittenBesideTheOneOfTheSameRoundThatAStateNames) {
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  learn::State state;
  state.learner = "toy";
  learn::ShardMemory memory({{"x", "F64", {2}}});
  for (double value = 1; value < 4; ++value) {
    const fs::path folder = run.checkpoint_memory(0);
    EXPECT_FALSE(fs::exists(folder));
    memory.tensor<double>("x")[0] = value;
    run.write_checkpoint(0, state, "",
                         {folder.filename().string(), {write_memory(folder, 0, memory.tensors())}});
    EXPECT_EQ(entries_in(run.path() / "checkpoints"), 2u);
    learn::ShardMemory read({{"x", "F64", {2}}});
    read_memory(run.newest_state(), 0, 1, read);
    EXPECT_EQ(read.tensor<double>("x")[0], value);
  }
}

std::string refusal(const data::Dataset& data, RunDirectory& run) {
  return error_of(base::ErrorKind::kInput, [&] { train_on(data, {2, 1}, &run); });
}

TEST(Memory, ThatIsMissingOrForeignIsRefused) {
  const data::Dataset data = toy_data(300, 1);
  RunDirectory run = RunDirectory::create(fresh_path("run"));
  train_on(data, {1, 1}, &run, {3, 0});
  const fs::path folder = run.path() / "checkpoints/round-00000003.memory";
  const fs::path before = run.path() / "checkpoints/round-00000002.memory";
  const auto overwrite = fs::copy_options::overwrite_existing;
  fs::copy_file(folder / "00001.safetensors", folder / "00002.safetensors", overwrite);
  EXPECT_THAT(refusal(data, run), HasSubstr("is not the memory of shard 2"));
  fs::copy_file(before / "00002.safetensors", folder / "00002.safetensors", overwrite);
  EXPECT_THAT(refusal(data, run), HasSubstr("is not the memory of shard 2"));
  fs::remove(folder / "00002.safetensors");
  EXPECT_THAT(refusal(data, run), HasSubstr("the memory of shard 2 is missing"));
}

TEST(Memory, IsNeededToContinue) {
  const data::Dataset data = toy_data(300, 1);
  MemoryLearner learner(5);
  EXPECT_THAT(error_of(base::ErrorKind::kUsage,
                       [&] { train(learner, data, {.shards = 2, .rounds_done = 3}); }),
              HasSubstr("has shard memory"));
}

TEST(ShardMemory, BeginsWithZerosAndKeepsWhatIsWritten) {
  learn::ShardMemory memory({{"a", "F32", {2, 3}}, {"b", "I64", {0}}});
  EXPECT_EQ(memory.bytes(), 24u);
  EXPECT_EQ(memory.tensor<float>("a")[5], 0);
  memory.tensor<float>("a")[5] = 7;
  EXPECT_TRUE(memory.tensor<std::int64_t>("b").empty());
  const auto bytes = data::safetensors_bytes(memory.tensors(), {});
  learn::ShardMemory other({{"a", "F32", {2, 3}}, {"b", "I64", {0}}});
  other.restore(data::SafetensorsFile(bytes, "memory"));
  EXPECT_EQ(other.tensor<float>("a")[5], 7);
}

TEST(ShardMemory, RefusesOtherTensors) {
  learn::ShardMemory memory({{"a", "F32", {2}}});
  using base::ErrorKind;
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { memory.tensor<double>("a"); }),
              HasSubstr("\"a\" of type F64 was not declared"));
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [] {
                         learn::ShardMemory({{"a", "U8", {2}}});
                       }),
              HasSubstr("dtype U8"));
  const learn::ShardMemory wider({{"a", "F32", {3}}});
  const auto bytes = data::safetensors_bytes(wider.tensors(), {});
  EXPECT_THAT(
      error_of(ErrorKind::kInput, [&] { memory.restore(data::SafetensorsFile(bytes, "memory")); }),
      HasSubstr("is F32 [3], expected F32 [2]"));
}

}  // namespace
}  // namespace meanwhile::job
