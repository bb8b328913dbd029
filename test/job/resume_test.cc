// k-means interrupted after any of its rounds, whatever that round was for, and gone on with.
#include <gtest/gtest.h>

#include "meanwhile/job/train.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "test/job/toy_learner.h"

namespace meanwhile::job {
namespace {

using learn::kmeans::KMeans;
using learn::kmeans::Parameters;

const TrainOptions kOptions = {.threads = 2, .shards = 4, .seed = 3};

void expect_same_after_any_interruption(const data::Dataset& data, const Parameters& parameters,
                                        const std::vector<double>& centers = {}) {
  std::int64_t rounds = 0;
  KMeans whole(parameters);
  if (!centers.empty()) whole.set_initial_centers(centers, data::cols(data.x));
  const TrainResult expected =
      train(whole, data, kOptions, nullptr, nullptr, [&](const RoundEvent&) { ++rounds; });
  ASSERT_GT(rounds, 3);
  for (std::int64_t last = 1; last < rounds; ++last) {
    std::atomic<bool> stop = false;
    std::int64_t done = 0;
    RunDirectory run = RunDirectory::create(fresh_path("run"));
    KMeans first(parameters);
    if (!centers.empty()) first.set_initial_centers(centers, data::cols(data.x));
    train(first, data, kOptions, &run, &stop, [&](const RoundEvent&) { stop = ++done == last; });
    ASSERT_EQ(run.run()["status"], "interrupted");

    const data::SafetensorsFile state(run.newest_state());
    KMeans second(parameters);
    second.restore(state);
    TrainOptions options = kOptions;
    options.rounds_done = rounds_of(state);
    const TrainResult result = train(second, data, options, &run);
    EXPECT_EQ(result.model_sha256, expected.model_sha256) << "after round " << last;
    EXPECT_EQ(result.objective, expected.objective) << "after round " << last;
    EXPECT_EQ(result.rounds, expected.rounds) << "after round " << last;
    EXPECT_EQ(result.stopped_because, expected.stopped_because) << "after round " << last;
  }
}

TEST(Resume, GivesTheSameModelWhenConverging) {
  expect_same_after_any_interruption(toy_data(3000, 3),
                                     {.n_clusters = 6, .n_init = 1, .tol = 1e-2});
}

TEST(Resume, GivesTheSameModelWhenRoundsRunOut) {
  expect_same_after_any_interruption(toy_data(3000, 3), {.n_clusters = 9,
                                                         .init = learn::kmeans::InitMethod::kRandom,
                                                         .n_init = 1,
                                                         .max_iter = 4,
                                                         .tol = 0});
}

TEST(Resume, GivesTheSameModelOfAsManyTrialsAsAreCheap) {
  expect_same_after_any_interruption(toy_data(300, 2), {.n_clusters = 2, .max_iter = 2});
}

TEST(Resume, GivesTheSameModelOfSeveralTrials) {
  expect_same_after_any_interruption(
      toy_data(3000, 3),
      {.n_clusters = 5, .init = learn::kmeans::InitMethod::kParallel, .n_init = 2, .max_iter = 3});
}

TEST(Resume, GivesTheSameModelFromGivenCentres) {
  expect_same_after_any_interruption(toy_data(3000, 2), {.n_clusters = 3, .n_init = 2},
                                     {10, 10, 50, 60, 90, 20});
}

TEST(Resume, GoesOnWhenMoreRoundsAreAllowed) {
  const data::Dataset data = toy_data(3000, 3);
  KMeans whole({.n_clusters = 9, .n_init = 1, .max_iter = 8, .tol = 0});
  const TrainResult expected = train(whole, data, kOptions);
  // Cut short before the score of the fourth and last round was taken, and after.
  for (const bool cut : {true, false}) {
    std::atomic<bool> stop = false;
    RunDirectory run = RunDirectory::create(fresh_path("run"));
    KMeans first({.n_clusters = 9, .n_init = 1, .max_iter = 4, .tol = 0});
    train(first, data, kOptions, &run, &stop,
          [&](const RoundEvent& event) { stop = cut && event.round == 4; });
    const data::SafetensorsFile state(run.newest_state());
    KMeans second({.n_clusters = 9, .n_init = 1, .max_iter = 8, .tol = 0});
    second.restore(state);
    EXPECT_EQ(train(second, data, kOptions).model_sha256, expected.model_sha256);
  }
}

TEST(Resume, GivesTheSameModelOfMiniBatches) {
  expect_same_after_any_interruption(toy_data(3000, 3),
                                     {.n_clusters = 5, .max_iter = 12, .batch_size = 200});
}

}  // namespace
}  // namespace meanwhile::job
