// Checkpoints that are damaged or made up: refused, or harmless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "test/expect_error.h"
#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kWords = 20;

// A checkpoint of two topics, in the second of three passes.
struct Checkpoint {
  std::vector<double> lambda = std::vector<double>(2 * kWords, 0.5), alpha = {0.5, 0.25},
                      word_counts = std::vector<double>(kWords, 3.0);
  Json parameters = {{"n_topics", 2}, {"passes", 3}, {"tol", 0}, {"batch_size", 7}};
  Json progress = {{"stage", "train"}, {"pass", 1},       {"round", 3},
                   {"seen", 60},       {"documents", 50}, {"tokens", 60}};
  Json about = {{"documents", 50}, {"tokens", 60}, {"eta", 0.5}};
  bool with_tensors = true;

  void restore(Lda& learner) const {
    std::map<std::string, data::Tensor> tensors;
    if (with_tensors) {
      tensors["lambda"] = data::tensor_of<double>(lambda, {kWords, 2});
      tensors["alpha"] = data::tensor_of<double>(alpha, {2});
      tensors["word_counts"] = data::tensor_of<double>(word_counts, {kWords});
    }
    const std::vector<std::byte> bytes =
        data::safetensors_bytes(tensors, {{"kind", "model"},
                                          {"learner", "lda"},
                                          {"parameters", parameters.dump()},
                                          {"progress", progress.dump()},
                                          {"about", about.dump()}});
    learner.restore(data::SafetensorsFile(bytes, "a checkpoint"));
  }
  std::string error() const {
    Lda learner(parameters_from_json(parameters));
    return input_error_of([&] { restore(learner); });
  }
  // Goes on to the end.
  job::TrainResult finish() const {
    Lda learner(parameters_from_json(parameters));
    restore(learner);
    return job::train(learner, test::dataset(test::some_documents(50, kWords, 1)),
                      test::with_shards(3));
  }
};

TEST(LdaState, IsGoneOnWithWhenItIsWhole) {
  const auto result = Checkpoint().finish();
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.rounds, 8 - 3 + 8);  // 50 documents in batches of 7: eight rounds a pass
}

TEST(LdaState, ProgressMustBePossible) {
  for (const char* name : {"pass", "round"}) {
    for (const std::int64_t value : {std::int64_t{-1}, INT64_MAX}) {
      Checkpoint file;
      file.progress[name] = value;
      EXPECT_THAT(file.error(), HasSubstr("its progress is impossible")) << name;
    }
  }
  for (const char* name : {"seen", "documents", "tokens", "old_documents", "pass_tokens"}) {
    Checkpoint file;
    file.progress[name] = -1;
    EXPECT_THAT(file.error(), HasSubstr("its progress is impossible")) << name;
  }
  Checkpoint file;
  file.progress["stage"] = "sleep";
  EXPECT_THAT(file.error(), HasSubstr("its stage is 'sleep'"));
  file.progress["stage"] = 7;
  EXPECT_THAT(file.error(), HasSubstr("its progress has the wrong types"));
  file.progress = "none";
  EXPECT_THAT(file.error(), HasSubstr("'progress' in its metadata is no JSON object"));
}

TEST(LdaState, TopicsMustBeThereOnceThereAreSome) {
  for (const char* stage : {"train", "score"}) {
    Checkpoint file;
    file.with_tensors = false;
    file.progress["stage"] = stage;
    EXPECT_THAT(file.error(), HasSubstr("lambda")) << stage;
  }
  Checkpoint file;
  file.with_tensors = false;
  file.progress["stage"] = "statistics";
  file.progress["old_documents"] = 10;
  EXPECT_THAT(file.error(), HasSubstr("lambda"));
}

TEST(LdaState, WhateverElseItSaysTrainingEnds) {
  std::vector<Checkpoint> files(6);
  files[0].progress["round"] = 1 << 20;  // more than a pass has
  files[1].progress["pass"] = 1 << 20;
  files[2].progress["ended"] = "tired";
  files[3].progress["stage"] = "score";
  files[4].progress["documents"] = 0;
  files[5].progress["old_documents"] = 1e12;
  for (std::size_t i = 0; i < files.size(); ++i) EXPECT_TRUE(files[i].finish().done) << i;
}

}  // namespace
}  // namespace meanwhile::learn::lda
