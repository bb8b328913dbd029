#include "meanwhile/learn/kmeans/kmeans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "meanwhile/base/error.h"
#include "meanwhile/job/train.h"
#include "test/expect_error.h"
#include "test/learn/points.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn::kmeans {
namespace {

using testing::HasSubstr;

struct Trained {
  Model model;
  job::TrainResult result;
  std::vector<job::RoundEvent> rounds;
};

// One start, unless `parameters` say how many.
Trained train(const data::Dataset& data, Parameters parameters, job::TrainOptions options = {},
              std::vector<double> centers = {}) {
  if (!parameters.n_init.number) parameters.n_init = 1;
  KMeans kmeans(parameters);
  if (!centers.empty()) kmeans.set_initial_centers(std::move(centers), data::cols(data.x));
  Trained trained;
  trained.result =
      job::train(kmeans, data, options, nullptr, nullptr, [&](const job::RoundEvent& event) {
        if (event.outcome.phase == Phase::kTrain) trained.rounds.push_back(event);
      });
  trained.model = kmeans.model();
  return trained;
}

TEST(KMeans, EqualsASerialLloydRoundByRound) {
  const std::int64_t D = 7, K = 12;
  const auto x = test::uniform(3000, D, 1);
  std::vector<double> centers(x.begin(), x.begin() + K * D);
  for (const std::int64_t rounds : {1, 2, 9}) {
    std::vector<double> serial = centers;
    for (std::int64_t r = 0; r < rounds; ++r) serial = test::serial_round(x, D, serial).centers;
    const Trained ours =
        train(test::dense(x, D), {.n_clusters = K, .max_iter = rounds, .tol = 0}, {}, centers);
    ASSERT_EQ(ours.model.centers.size(), serial.size());
    for (std::size_t i = 0; i < serial.size(); ++i)
      EXPECT_NEAR(ours.model.centers[i], serial[i], 1e-12);
    EXPECT_NEAR(ours.result.objective, test::serial_round(x, D, serial).inertia, 1e-9);
  }
}

TEST(KMeans, StopsWhenSquaredMovesAddUpToLittle) {
  const std::int64_t D = 3, K = 9;
  const auto x = test::uniform(2000, D, 4);
  const std::vector<double> first(x.begin(), x.begin() + K * D);
  double before = 0;
  for (const double tol : {1e-2, 1e-4}) {
    const Parameters p{.n_clusters = K, .tol = 0, .shift_tol = tol};
    const Trained ours = train(test::dense(x, D), p, {}, first);
    EXPECT_GT(static_cast<double>(ours.result.rounds), before) << tol;
    before = static_cast<double>(ours.result.rounds);
    std::vector<double> centers = first;
    double moved = 0;
    for (std::int64_t r = 0; r < ours.result.rounds; ++r) {
      EXPECT_TRUE(r == 0 || moved > tol) << r;
      const auto next = test::serial_round(x, D, centers).centers;
      moved = 0;
      for (std::size_t i = 0; i < next.size(); ++i) {
        moved += (next[i] - centers[i]) * (next[i] - centers[i]);
      }
      centers = next;
    }
    EXPECT_LE(moved, tol);
  }
}

TEST(KMeans, OneAnswerForAnyNumberOfWorkers) {
  const auto x = test::blobs(6000, 5, 10, 4, 2);
  for (const InitMethod init : {InitMethod::kRandom, InitMethod::kGreedy, InitMethod::kParallel}) {
    std::set<std::string> hashes;
    for (const int threads : {1, 2, 3, 5, 8}) {
      hashes.insert(train(test::dense(x, 5), {.n_clusters = 10, .init = init, .n_init = 2},
                          {.threads = threads, .shards = 8, .seed = 3})
                        .result.model_sha256);
    }
    EXPECT_EQ(hashes.size(), 1U) << to_string(init);
  }
}

TEST(KMeans, CachesAndBoundsSaveWorkButDoNotChangeBits) {
  const std::int64_t D = 6;
  const auto x = test::blobs(20000, D, 12, 6, 4);
  data::Dataset data = test::dense(x, D);
  const Parameters parameters{
      .n_clusters = 12, .init = InitMethod::kRandom, .max_iter = 40, .tol = 0};
  const Trained cached = train(data, parameters, {.seed = 1});
  // Every round afresh: a learner attached anew for each, restored from nothing but its centres.
  const Trained first = train(
      data, {.n_clusters = 12, .init = InitMethod::kRandom, .max_iter = 1, .tol = 0}, {.seed = 1});
  std::vector<double> centers = first.model.centers;
  for (std::size_t r = 1; r < cached.rounds.size(); ++r) {
    centers = train(data, {.n_clusters = 12, .max_iter = 1, .tol = 0}, {.seed = 1}, centers)
                  .model.centers;
  }
  EXPECT_EQ(cached.model.centers, centers);
  const auto searched = cached.rounds.back().outcome.record["rows_searched"].get<std::int64_t>();
  EXPECT_LT(searched, 15000) << "bounds decided hardly any row";
}

TEST(KMeans, InertiaNeverRises) {
  const auto x = test::uniform(5000, 3, 5);
  const Trained t = train(test::dense(x, 3),
                          {.n_clusters = 40, .init = InitMethod::kRandom, .tol = 0}, {.seed = 9});
  for (std::size_t r = 1; r < t.rounds.size(); ++r) {
    EXPECT_LE(t.rounds[r].outcome.objective, t.rounds[r - 1].outcome.objective * (1 + 1e-12));
  }
  EXPECT_EQ(t.result.stopped_because, "converged: no centre moved");
  EXPECT_EQ(t.rounds.back().outcome.record["moved"], 0);
}

TEST(KMeans, WeightTwoIsTheRowTwice) {
  const std::int64_t D = 3, K = 4;
  const auto x = test::uniform(500, D, 6);
  std::vector<float> doubled;
  std::vector<double> weights;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::size_t copies = 1 + i % 2;
    weights.push_back(static_cast<double>(copies));
    for (std::size_t c = 0; c < copies; ++c)
      doubled.insert(doubled.end(), x.begin() + static_cast<std::ptrdiff_t>(i) * D,
                     x.begin() + static_cast<std::ptrdiff_t>(i + 1) * D);
  }
  const std::vector<double> centers(x.begin(), x.begin() + K * D);
  const Trained by_weight =
      train(test::dense(x, D, weights), {.n_clusters = K, .tol = 0}, {}, centers);
  const Trained by_copy = train(test::dense(doubled, D), {.n_clusters = K, .tol = 0}, {}, centers);
  for (std::size_t i = 0; i < centers.size(); ++i)
    EXPECT_NEAR(by_weight.model.centers[i], by_copy.model.centers[i], 1e-12);
  EXPECT_NEAR(by_weight.result.objective, by_copy.result.objective, 1e-9);
  EXPECT_EQ(by_weight.model.counts, by_copy.model.counts);
}

TEST(KMeans, WeightZeroIsTheRowAbsent) {
  const std::int64_t D = 2, K = 3;
  auto x = test::uniform(300, D, 7);
  std::vector<double> weights(300, 1.0);
  std::vector<float> kept;
  for (std::size_t i = 0; i < 300; ++i) {
    if (i % 3 == 0) {
      weights[i] = 0;
      x[i * 2] += 1000;  // far away: a tempting first centre, and a tempting far row
    } else {
      kept.insert(kept.end(), x.begin() + static_cast<std::ptrdiff_t>(i) * D,
                  x.begin() + static_cast<std::ptrdiff_t>(i + 1) * D);
    }
  }
  const std::vector<double> centers(kept.begin(), kept.begin() + K * D);
  const Trained with = train(test::dense(x, D, weights), {.n_clusters = K, .tol = 0}, {}, centers);
  const Trained without = train(test::dense(kept, D), {.n_clusters = K, .tol = 0}, {}, centers);
  for (std::size_t i = 0; i < centers.size(); ++i)
    EXPECT_NEAR(with.model.centers[i], without.model.centers[i], 1e-12);
  for (const InitMethod init : {InitMethod::kRandom, InitMethod::kGreedy, InitMethod::kParallel}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Trained t = train(test::dense(x, D, weights),
                              {.n_clusters = K, .init = init, .max_iter = 1}, {.seed = seed});
      for (std::int64_t k = 0; k < K; ++k)
        EXPECT_LT(t.model.centers[static_cast<std::size_t>(k * D)], 2) << to_string(init);
    }
  }
}

TEST(KMeans, EverySeedingFindsSeparateBlobs) {
  const std::int64_t D = 4, K = 8;
  const auto x = test::blobs(4000, D, K, 100, 8);
  for (const InitMethod init : {InitMethod::kGreedy, InitMethod::kParallel}) {
    for (const bool is_sparse : {false, true}) {
      const data::Dataset data = is_sparse ? test::sparse(x, D) : test::dense(x, D);
      const Trained t = train(data, {.n_clusters = K, .init = init}, {.seed = 5});
      // Unit variance in every direction when each blob has its centre.
      EXPECT_NEAR(t.result.objective / 4000, static_cast<double>(D), 0.3)
          << to_string(init) << is_sparse;
    }
  }
}

TEST(KMeans, RandomSeedingDrawsDistinctRowsEvenAllOfThem) {
  const auto x = test::uniform(700, 2, 9);
  const Trained t =
      train(test::dense(x, 2), {.n_clusters = 700, .init = InitMethod::kRandom, .max_iter = 1},
            {.seed = 2});
  EXPECT_EQ(t.result.objective, 0);
  EXPECT_EQ(std::count(t.model.counts.begin(), t.model.counts.end(), 1.0), 700);
}

TEST(KMeans, TheBestOfSeveralTrialsIsKept) {
  const auto x = test::blobs(2000, 2, 15, 12, 10);
  const auto inertia_of = [&](std::int64_t n_init, std::uint64_t seed) {
    const Trained t =
        train(test::dense(x, 2), {.n_clusters = 15, .init = InitMethod::kRandom, .n_init = n_init},
              {.seed = seed});
    const double inertia = assign(t.model, test::dense(x, 2), 2).inertia;
    EXPECT_NEAR(inertia, t.result.objective, 1e-9 * inertia);
    return inertia;
  };
  // The first trial is the only one of a run with n_init = 1: more can but improve on it.
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const double first = inertia_of(1, seed), best = inertia_of(6, seed);
    EXPECT_LE(best, first) << seed;
    better += best < 0.99 * first;
  }
  EXPECT_GE(better, 2);
}

TEST(KMeans, AnEmptyClusterMovesToTheFarthestRow) {
  // Two centres on the left blob's side, one so far that no row is its own.
  const std::vector<float> x = {0, 0, 1, 0, 0, 1, 100, 100, 101, 100, 50, -50};
  const std::vector<double> centers = {0, 0, 100, 100, 1e6, 1e6};
  const Trained t = train(test::dense(x, 2), {.n_clusters = 3, .tol = 0}, {}, centers);
  EXPECT_EQ(t.rounds[0].outcome.record["empty"], 1);
  EXPECT_EQ(t.rounds[1].outcome.record["relocated"], 1);
  EXPECT_EQ(t.model.counts, (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(t.model.centers[4], 50);
  EXPECT_EQ(t.model.centers[5], -50);
}

TEST(KMeans, EqualRowsLeaveEmptyClustersAndNoNaN) {
  const std::vector<float> x(600, 3.5F);
  for (const InitMethod init : {InitMethod::kRandom, InitMethod::kGreedy, InitMethod::kParallel}) {
    const Trained t = train(test::dense(x, 2), {.n_clusters = 5, .init = init}, {});
    EXPECT_EQ(t.result.objective, 0);
    EXPECT_EQ(std::count(t.model.counts.begin(), t.model.counts.end(), 0.0), 4) << to_string(init);
    for (const double value : t.model.centers) EXPECT_EQ(value, 3.5);
  }
}

TEST(KMeans, SmallestCases) {
  const Trained row = train(test::dense<float>({1, 2, 3}, 3), {.n_clusters = 1}, {});
  EXPECT_EQ(row.model.centers, (std::vector<double>{1, 2, 3}));
  const Trained column = train(test::dense<double>({1, 2, 10, 11}, 1), {.n_clusters = 2}, {});
  EXPECT_NEAR(column.result.objective, 1, 1e-12);
  const auto x = test::uniform<double>(1000, 3, 11);
  const Trained mean = train(test::dense(x, 3), {.n_clusters = 1, .tol = 0}, {});
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); i += 3) sum += x[i];
  EXPECT_NEAR(mean.model.centers[0], sum / 1000, 1e-12);
}

TEST(KMeans, MoreClustersThanRowsIsAnError) {
  try {
    train(test::dense<float>({1, 2, 3, 4}, 2), {.n_clusters = 3}, {});
    FAIL();
  } catch (const base::Error& e) {
    EXPECT_EQ(e.kind(), base::ErrorKind::kUsage);
    EXPECT_NE(std::string(e.what()).find("only 2 rows"), std::string::npos) << e.what();
  }
}

TEST(KMeans, CosineIsEuclideanOnUnitRows) {
  const std::int64_t D = 6, K = 5;
  auto x = test::uniform<double>(1500, D, 12, -1, 1);
  auto unit = x;
  for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(D)) {
    const double norm = std::sqrt(std::inner_product(
        x.begin() + static_cast<std::ptrdiff_t>(i), x.begin() + static_cast<std::ptrdiff_t>(i) + D,
        x.begin() + static_cast<std::ptrdiff_t>(i), 0.0));
    for (std::size_t j = i; j < i + static_cast<std::size_t>(D); ++j) unit[j] = x[j] / norm;
  }
  const std::vector<double> centers(unit.begin(), unit.begin() + K * D);
  const Trained t =
      train(test::dense(x, D), {.n_clusters = K, .tol = 0, .metric = Metric::kCosine}, {}, centers);
  EXPECT_EQ(t.result.stopped_because, "converged: no centre moved");
  // Half the squared Euclidean distance of unit vectors is 1 - cosine, and labels agree.
  const test::SerialKMeans euclidean = test::serial_round(unit, D, t.model.centers);
  EXPECT_EQ(assign(t.model, test::dense(x, D), 1).labels, euclidean.labels);
  EXPECT_NEAR(t.result.objective, euclidean.inertia / 2, 1e-9);
  const Trained on_sparse = train(
      test::sparse(x, D), {.n_clusters = K, .tol = 0, .metric = Metric::kCosine}, {}, centers);
  EXPECT_NEAR(on_sparse.result.objective, t.result.objective, 1e-9);
}

TEST(KMeans, ARowOfZerosHasDistanceOneUnderCosine) {
  const Trained t = train(test::dense<float>({1, 0, 0, 1, 0, 0}, 2),
                          {.n_clusters = 2, .metric = Metric::kCosine}, {}, {1, 0, 0, 1});
  EXPECT_EQ(t.result.objective, 1);
  EXPECT_EQ(t.model.centers, (std::vector<double>{1, 0, 0, 1}));
}

TEST(KMeans, SparseEqualsDense) {
  const std::int64_t D = 30, K = 6;
  auto x = test::uniform(2000, D, 13);
  for (float& value : x) value = value < 0.8F ? 0.0F : value;
  const std::vector<double> centers(x.begin(), x.begin() + K * D);
  const Trained dense = train(test::dense(x, D), {.n_clusters = K, .tol = 0}, {}, centers);
  const Trained sparse = train(test::sparse(x, D), {.n_clusters = K, .tol = 0}, {}, centers);
  for (std::size_t i = 0; i < dense.model.centers.size(); ++i)
    EXPECT_NEAR(dense.model.centers[i], sparse.model.centers[i], 1e-10);
  EXPECT_NEAR(dense.result.objective, sparse.result.objective, 1e-8);
}

TEST(KMeans, MiniBatchesComeNearTheFullBatch) {
  const auto x = test::blobs(20000, 4, 6, 30, 14);
  const data::Dataset data = test::dense(x, 4);
  const Trained full = train(data, {.n_clusters = 6, .init = InitMethod::kGreedy}, {.seed = 1});
  const Trained batch =
      train(data, {.n_clusters = 6, .init = InitMethod::kGreedy, .batch_size = 500}, {.seed = 1});
  EXPECT_LT(batch.result.objective, 1.05 * full.result.objective);
  EXPECT_EQ(std::accumulate(batch.model.counts.begin(), batch.model.counts.end(), 0.0),
            500.0 * static_cast<double>(batch.result.rounds));
}

TEST(KMeans, AStateRestoredMidwayGivesTheSameBits) {
  const auto x = test::blobs(4000, 3, 8, 5, 15);
  const data::Dataset data = test::dense(x, 3);
  const TemporaryFolder folder;
  for (const std::int64_t batch : {0, 300}) {
    const Parameters whole{.n_clusters = 8,
                           .init = InitMethod::kGreedy,
                           .n_init = 1,
                           .max_iter = 12,
                           .tol = 0,
                           .batch_size = batch};
    Parameters part = whole;
    part.max_iter = 5;
    const Trained uninterrupted = train(data, whole, {.seed = 6});
    KMeans first(part);
    job::train(first, data, {.seed = 6});
    const auto path = folder.path() / "state.safetensors";
    job::write_state(path, first.state(), 5);
    KMeans second(whole);
    second.restore(data::SafetensorsFile(path));
    const job::TrainResult result = job::train(second, data, {.seed = 6});
    EXPECT_EQ(result.model_sha256, uninterrupted.result.model_sha256) << batch;
  }
}

TEST(KMeans, TransformAndAssignAgree) {
  const auto x = test::uniform(700, 5, 16);
  const data::Dataset data = test::dense(x, 5);
  const Model model = train(data, {.n_clusters = 9}, {}).model;
  std::vector<double> distances(700 * 9);
  transform(model, data, 0, 700, 2, distances);
  const Assignment assigned = assign(model, data, 2);
  double inertia = 0;
  for (std::size_t i = 0; i < 700; ++i) {
    const auto row = distances.begin() + static_cast<std::ptrdiff_t>(i) * 9;
    EXPECT_EQ(std::min_element(row, row + 9) - row, assigned.labels[i]);
    inertia += *std::min_element(row, row + 9) * *std::min_element(row, row + 9);
  }
  EXPECT_NEAR(inertia, assigned.inertia, 1e-9);
}

TEST(KMeans, BadParametersAreNamed) {
  const std::pair<Parameters, const char*> bad[] = {{{.n_clusters = 0}, "n_clusters is 0"},
                                                    {{.n_init = 0}, "n_init is 0"},
                                                    {{.max_iter = 0}, "max_iter is 0"},
                                                    {{.tol = -1}, "tol is -1"},
                                                    {{.batch_size = -1}, "batch_size is -1"}};
  for (const auto& [parameters, message] : bad) {
    const Parameters& given = parameters;
    EXPECT_THAT(usage_error_of([&] { KMeans{given}; }), HasSubstr(message));
  }
  EXPECT_THAT(usage_error_of([] {
                parameters_from_json({{"metric", "manhattan"}});
              }),
              HasSubstr("metric is 'manhattan'; it must be one of: euclidean, cosine"));
}

TEST(KMeans, AFileOfCentresMustHaveBeenRead) {
  const Parameters p{.n_clusters = 2, .init = OpenChoice<InitMethod>("centres.csv")};
  EXPECT_EQ(p.init.named(), std::nullopt);
  EXPECT_THAT(usage_error_of([&] { train(test::dense(test::uniform(9, 2, 1), 2), p, {}); }),
              HasSubstr("init is the file 'centres.csv'"));
}

}  // namespace
}  // namespace meanwhile::learn::kmeans
