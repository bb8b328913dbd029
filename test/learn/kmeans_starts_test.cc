// How often k-means starts when n_init is auto.
#include <gtest/gtest.h>

#include "meanwhile/job/train.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "test/learn/points.h"

namespace meanwhile::learn::kmeans {
namespace {

struct Trained {
  job::TrainResult result;
  std::int64_t trials = 0;
};

Trained train(const data::Dataset& data, const Parameters& parameters, int threads = 2,
              std::vector<double> centers = {}) {
  KMeans kmeans(parameters);
  if (!centers.empty()) kmeans.set_initial_centers(std::move(centers), data::cols(data.x));
  Trained trained;
  trained.result = job::train(kmeans, data, {.threads = threads, .shards = 4, .seed = 3}, nullptr,
                              nullptr, [&](const job::RoundEvent& event) {
                                trained.trials += event.outcome.phase == Phase::kScore;
                              });
  return trained;
}

TEST(KMeansStarts, AreTenWhileTheyAreCheapAndFewerAsDataGrows) {
  const Parameters few{.n_clusters = 15}, many{.n_clusters = 1500};
  EXPECT_EQ(starts(few, 5000, 10'000), kMostStarts);
  std::int64_t before = kMostStarts;
  for (std::int64_t rows = 1000; rows < 1'000'000'000; rows *= 3) {
    const std::int64_t now = starts(few, rows, 8 * rows);
    EXPECT_LE(now, before) << rows;
    EXPECT_GE(now, 1) << rows;
    EXPECT_LE(starts(many, rows, 8 * rows), now) << rows;
    before = now;
  }
  EXPECT_EQ(before, 1);
}

TEST(KMeansStarts, AreAsManyAsAskedForAndOneOfMiniBatches) {
  EXPECT_EQ(starts({.n_init = 3}, 100, 200), 3);
  EXPECT_EQ(starts({.n_init = 3}, 1'000'000'000, 2'000'000'000), 3);
  EXPECT_EQ(starts({.batch_size = 50}, 100, 200), 1);
}

TEST(KMeansStarts, AreSaidAndGiveTheBitsOfThatNumber) {
  const auto x = test::blobs(1500, 2, 12, 10, 5);
  const data::Dataset data = test::dense(x, 2);
  const Trained open = train(data, {.n_clusters = 12});
  EXPECT_EQ(open.trials, kMostStarts);
  EXPECT_EQ(open.result.record["chosen"]["n_init"], kMostStarts);
  const Trained asked = train(data, {.n_clusters = 12, .n_init = kMostStarts}, 3);
  EXPECT_EQ(asked.result.model_sha256, open.result.model_sha256);
  EXPECT_FALSE(asked.result.record.contains("chosen"));
  const Trained once = train(data, {.n_clusters = 12, .n_init = 1});
  EXPECT_EQ(once.trials, 1);
  EXPECT_LE(open.result.objective, once.result.objective);
}

TEST(KMeansStarts, AreOneFromGivenCentres) {
  const auto x = test::uniform(500, 2, 4);
  const std::vector<double> centers(x.begin(), x.begin() + 6);
  EXPECT_EQ(train(test::dense(x, 2), {.n_clusters = 3}, 2, centers).trials, 1);
}

// The end that is told is that of the start whose model is kept.
TEST(KMeansStarts, EndAsTheBestOfThemEnded) {
  const auto x = test::uniform(900, 2, 6);
  for (const std::int64_t most : {5, 9, 13}) {
    const Parameters p{.n_clusters = 5, .init = InitMethod::kRandom, .max_iter = most, .tol = 0};
    KMeans kmeans(p);
    double best = 0;
    Ending ending = Ending::kNone;
    std::int64_t rounds = 0;
    const auto result = job::train(kmeans, test::dense(x, 2), {.shards = 4, .seed = 1}, nullptr,
                                   nullptr, [&](const job::RoundEvent& event) {
                                     if (event.outcome.phase == Phase::kTrain) ++rounds;
                                     if (event.outcome.phase != Phase::kScore) return;
                                     const double inertia = event.outcome.objective;
                                     const bool better = ending == Ending::kNone || inertia < best;
                                     if (better) {
                                       best = inertia;
                                       ending =
                                           rounds == most ? Ending::kRanOut : Ending::kConverged;
                                     }
                                     rounds = 0;
                                   });
    EXPECT_EQ(result.ending, ending) << most;
  }
}

}  // namespace
}  // namespace meanwhile::learn::kmeans
