// Damage in the files of a run: a state or run.json of which one bit differs is not believed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/base/file.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/state_file.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::job {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kModel[] = "model.safetensors";

class SealedRun : public testing::Test {
 protected:
  SealedRun() {
    state_.learner = "toy";
    state_.learned["mean"] = data::tensor_of<double>(values_, {3});
    state_.carried["sum"] = data::tensor_of<double>(values_, {3});
    state_.parameters = {{"tol", 0.5}};
    state_.progress = {{"step", 3}};
  }

  RunDirectory run_with_model() const {
    RunDirectory run = RunDirectory::create(folder_ / "run");
    run.write_model(7, state_, "data", {}, "converged: nothing moved");
    run.write_run({{"status", "done"}, {"model_sha256", data::sha256(state_.learned)}});
    return run;
  }

  static void flip(const fs::path& file, std::size_t byte, int bit) {
    std::string bytes = base::read_file(file);
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
    base::write_file(file, bytes);
  }

  // Damages every byte of `file` in turn; `use` must refuse each.
  template <class Use>
  static void expect_every_flip_refused(const fs::path& file, const Use& use) {
    const std::string whole = base::read_file(file);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const int bit = static_cast<int>(i % 8);
      flip(file, i, bit);
      EXPECT_THROW(use(), base::Error) << file << ", byte " << i << ", bit " << bit;
      base::write_file(file, whole);
    }
    EXPECT_NO_THROW(use());
  }

  // The same file as version 0.1.0 wrote it: without a seal.
  static void write_unsealed(const fs::path& path, const data::SafetensorsFile& file,
                             const std::string& version) {
    std::vector<data::TensorSpec> specs;
    for (const auto& [name, tensor] : file.tensors()) {
      specs.push_back({name, tensor.dtype, tensor.shape});
    }
    data::Metadata metadata = file.metadata();
    metadata.erase(data::kSeal);
    metadata["version"] = version;
    std::string text = data::safetensors_header(specs, metadata).text;
    for (const auto& [name, tensor] : file.tensors()) {
      text.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    }
    base::write_file(path, text);
  }

  const TemporaryFolder folder_;
  const std::vector<double> values_ = {1, 2, 3};
  learn::State state_;
};

TEST_F(SealedRun, RefusesAModelOfWhichAnyByteIsDamaged) {
  const RunDirectory run = run_with_model();
  expect_every_flip_refused(run.path() / kModel, [&] { learn::open_model(run.path()); });
  expect_every_flip_refused(run.path() / kModel, [&] { learn::open_model(run.path() / kModel); });
}

TEST_F(SealedRun, RefusesARunOfWhichAnyByteOfRunJsonIsDamaged) {
  const RunDirectory run = run_with_model();
  expect_every_flip_refused(run.path() / "run.json", [&] { learn::open_model(run.path()); });
  expect_every_flip_refused(run.path() / "run.json", [&] { RunDirectory::open(run.path()); });
}

TEST_F(SealedRun, PassesOverACheckpointOfWhichAnyByteIsDamaged) {
  RunDirectory run = RunDirectory::create(folder_ / "run");
  run.write_checkpoint(4, state_);
  run.write_checkpoint(5, state_);
  const fs::path newest = run.path() / "checkpoints/round-00000005.safetensors";
  const std::string whole = base::read_file(newest);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    flip(newest, i, static_cast<int>(i % 8));
    learn::Reading reading;
    EXPECT_EQ(learn::open_newest(run.path(), reading).path.filename(), "round-00000004.safetensors")
        << "byte " << i;
    EXPECT_THAT(reading.notes, ElementsAre(AllOf(HasSubstr("round-00000005.safetensors"),
                                                 HasSubstr("the state before it"))));
    base::write_file(newest, whole);
  }
  learn::Reading reading;
  EXPECT_EQ(learn::open_newest(run.path(), reading).path, newest);
  EXPECT_THAT(reading.notes, IsEmpty());
}

TEST_F(SealedRun, RemovesADamagedCheckpointThatItHasGoneOnWithout) {
  RunDirectory run = RunDirectory::create(folder_ / "run");
  run.write_checkpoint(4, state_);
  run.write_checkpoint(5, state_);
  run.write_checkpoint(9, state_);
  flip(run.path() / "checkpoints/round-00000009.safetensors", 300, 3);
  run.write_checkpoint(6, state_);
  learn::Reading reading;
  EXPECT_EQ(learn::open_newest(run.path(), reading).path.filename(), "round-00000006.safetensors");
  EXPECT_TRUE(fs::exists(run.path() / "checkpoints/round-00000005.safetensors"));
  EXPECT_THAT(reading.notes, IsEmpty());
}

TEST_F(SealedRun, TakesADamagedModelWithANoteWhenAskedTo) {
  const RunDirectory run = run_with_model();
  flip(run.path() / kModel, base::read_file(run.path() / kModel).size() - 1, 0);
  EXPECT_THAT(input_error_of([&] { learn::open_model(run.path()); }),
              AllOf(HasSubstr(kModel), HasSubstr("damaged"), HasSubstr("`unsealed`")));
  learn::Reading reading{.unsealed = true};
  learn::open_model(run.path(), reading);
  EXPECT_THAT(reading.notes, ElementsAre(HasSubstr("damaged")));
}

TEST_F(SealedRun, RefusesAWholeModelOfAnotherRun) {
  const RunDirectory run = run_with_model();
  const std::vector<double> others = {4, 5, 6};
  learn::State other = state_;
  other.learned["mean"] = data::tensor_of<double>(others, {3});
  write_state(run.path() / kModel, other, 7);
  EXPECT_THAT(input_error_of([&] { learn::open_model(run.path()); }), HasSubstr("model_sha256"));
}

TEST_F(SealedRun, TakesAnUnsealedModelOfTheFirstVersionByItsHash) {
  const RunDirectory run = run_with_model();
  const fs::path model = run.path() / kModel;
  const std::string sealed = base::read_file(model);
  write_unsealed(model, data::SafetensorsFile(model), "0.1.0");
  EXPECT_NO_THROW(learn::open_model(run.path()));
  EXPECT_NO_THROW(learn::open_model(model));
  // Elsewhere, nothing says its hash.
  fs::copy_file(model, folder_ / "alone.safetensors");
  EXPECT_THAT(input_error_of([&] { learn::open_model(folder_ / "alone.safetensors"); }),
              HasSubstr("no run.json names its hash"));
  // The mean is damaged: the last tensor of the file.
  flip(model, base::read_file(model).size() - 1, 0);
  EXPECT_THAT(input_error_of([&] { learn::open_model(run.path()); }), HasSubstr("damaged"));
  // Later versions seal all.
  base::write_file(model, sealed);
  write_unsealed(model, data::SafetensorsFile(model), "0.2.0");
  EXPECT_THAT(input_error_of([&] { learn::open_model(run.path()); }), HasSubstr("lost its seal"));
}

TEST_F(SealedRun, SaysInTheStateHowItEnded) {
  const RunDirectory run = run_with_model();
  const data::SafetensorsFile model = learn::open_state(run.path() / kModel);
  EXPECT_EQ(learn::ended_of(model).ending, learn::Ending::kConverged);
  EXPECT_EQ(learn::ended_of(model).because, "converged: nothing moved");
  RunDirectory going = RunDirectory::create(folder_ / "going");
  going.write_checkpoint(1, state_);
  EXPECT_FALSE(learn::ended_of(learn::open_state(going.newest_state())));
}

}  // namespace
}  // namespace meanwhile::job
