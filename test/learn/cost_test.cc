// Costs that learners state before they have seen data, against what they then do.
#include <gtest/gtest.h>

#include <map>

#include "meanwhile/data/clip.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/linear/linear.h"
#include "test/learn/linear_data.h"
#include "test/learn/points.h"
#include "test/learn/wrapped_learner.h"

namespace meanwhile::learn {
namespace {

// Passes everything on, and keeps the sizes of updates by what the round was for.
class Watched final : public test::WrappedLearner {
 public:
  using WrappedLearner::WrappedLearner;

  std::map<Phase, std::vector<std::size_t>> sizes;

  Outcome absorb(const exchange::Update& total) override {
    std::size_t size = 0;
    for (const exchange::Block& block : learner_.update_shape()) {
      size += static_cast<std::size_t>(block.values());
    }
    const Outcome outcome = learner_.absorb(total);
    sizes[outcome.phase].push_back(size);
    return outcome;
  }
};

Shape shape_of(const data::Dataset& data, std::int64_t classes = 2) {
  return {data::rows(data.x), data::cols(data.x), data::stored(data.x), classes,
          data::is_sparse(data)};
}

double rounds_of(const std::vector<Stretch>& course, Phase phase) {
  double rounds = 0;
  for (const Stretch& stretch : course) rounds += stretch.phase == phase ? stretch.rounds : 0;
  return rounds;
}

double rounds_of(Watched& watched, Phase phase) {
  return static_cast<double>(watched.sizes[phase].size());
}

constexpr double kTail = 16;  // numbers behind an update that no prediction counts

// Trains `learner` and checks what it had said.
void expect_stated_cost(const std::string& what, RoundLearner& learner, const data::Dataset& data,
                        std::int64_t classes = 2) {
  SCOPED_TRACE(what);
  const Shape shape = shape_of(data, classes);
  const Cost said = learner.cost(shape);
  const std::vector<Stretch> course = learner.course(shape);
  Watched watched(learner);
  job::train(watched, data, test::on(4));

  ASSERT_FALSE(watched.sizes[Phase::kTrain].empty());
  for (const std::size_t size : watched.sizes[Phase::kTrain]) {
    EXPECT_GE(static_cast<double>(size), said.update_bytes / 8);
    EXPECT_LE(static_cast<double>(size), said.update_bytes / 8 + kTail);
  }
  // max_iter ends all of them.
  EXPECT_EQ(rounds_of(course, Phase::kTrain), rounds_of(watched, Phase::kTrain));
  // Whether the end is L-BFGS, which needs no score, is not always known before.
  EXPECT_LE(rounds_of(watched, Phase::kScore), rounds_of(course, Phase::kScore));
  EXPECT_LE(rounds_of(course, Phase::kScore) - rounds_of(watched, Phase::kScore), 1);
  const double seeding = rounds_of(watched, Phase::kPrepare);
  EXPECT_LE(seeding, 2 * rounds_of(course, Phase::kPrepare));
  EXPECT_GE(2 * seeding, rounds_of(course, Phase::kPrepare));
  for (const Stretch& stretch : course) {
    EXPECT_GE(stretch.rounds, 0);
    EXPECT_GE(stretch.round.flops, 0);
    EXPECT_GE(stretch.round.bytes_read, 0);
    EXPECT_GE(stretch.round.update_bytes, 0);
    EXPECT_GE(stretch.round.absorb_bytes, stretch.round.update_bytes);
    EXPECT_FALSE(stretch.round.kernel.empty());
  }
}

data::Dataset points(std::int64_t rows, std::int64_t cols, bool sparse = false) {
  const auto x = test::blobs(rows, cols, 10, 5, 3);
  return sparse ? test::sparse(x, cols) : test::dense(x, cols);
}

kmeans::Parameters clusters(kmeans::InitMethod init) {
  return {.n_clusters = 20, .init = init, .max_iter = 4, .tol = 0};
}

TEST(LearnerCost, OfKMeansIsWhatItSends) {
  for (const kmeans::InitMethod init : {kmeans::InitMethod::kRandom, kmeans::InitMethod::kGreedy,
                                        kmeans::InitMethod::kParallel, kmeans::InitMethod::kAuto}) {
    for (const bool sparse : {false, true}) {
      kmeans::KMeans learner(clusters(init));
      expect_stated_cost(to_string(init), learner, points(2000, 6, sparse));
    }
  }
  kmeans::Parameters parameters = clusters(kmeans::InitMethod::kGreedy);
  parameters.n_init = 3;
  kmeans::KMeans thrice(parameters);
  expect_stated_cost("three starts", thrice, points(2000, 6));
  parameters = clusters(kmeans::InitMethod::kRandom);
  parameters.batch_size = 100;
  kmeans::KMeans batches(parameters);
  expect_stated_cost("batches", batches, points(2000, 6));
}

TEST(LearnerCost, OfKMeansWithCentresHasNoSeeding) {
  kmeans::KMeans learner(clusters(kmeans::InitMethod::kAuto));
  learner.set_initial_centers(std::vector<double>(20 * 6, 0.5), 6);
  EXPECT_EQ(rounds_of(learner.course({2000, 6, 12000}), Phase::kPrepare), 0);
}

TEST(LearnerCost, OfKMeansCountsTheDistances) {
  const kmeans::KMeans learner(clusters(kmeans::InitMethod::kAuto));
  const Cost dense = learner.cost({1000, 50, 50000}),
             sparse = learner.cost({1000, 50, 700, 2, true});
  EXPECT_EQ(dense.flops, 2.0 * 50000 * 20);
  EXPECT_EQ(sparse.flops, 2.0 * 700 * 20);
  EXPECT_EQ(dense.outputs, 20);
  EXPECT_EQ(dense.update_bytes, sparse.update_bytes);
  // A batch is a part of the rows; its score is of all.
  kmeans::Parameters parameters = clusters(kmeans::InitMethod::kAuto);
  parameters.batch_size = 100;
  const kmeans::KMeans batches(parameters);
  EXPECT_DOUBLE_EQ(batches.cost({1000, 50, 50000}).flops, dense.flops / 10);
  EXPECT_DOUBLE_EQ(batches.course({1000, 50, 50000}).back().round.flops, dense.flops);
  EXPECT_DOUBLE_EQ(batches.cost({50, 50, 2500}).flops, 2.0 * 2500 * 20);
}

using linear::Kind;
using linear::Parameters;
using linear::Solver;

Parameters six_rounds(Solver solver, Send send = Send::kModel, double learning_rate = 0) {
  Parameters parameters;
  parameters.solver = solver;
  parameters.send = send;
  parameters.learning_rate = learning_rate;
  parameters.max_iter = 6;
  parameters.tol = 0;
  return parameters;
}

void expect_stated_cost(const std::string& what, Kind kind, const Parameters& parameters,
                        std::size_t classes) {
  for (const auto storage : {test::Storage::kDense, test::Storage::kSparse}) {
    linear::Linear learner(kind, parameters);
    const auto data = test::dataset(test::rows_for(classes, 400, 30, 5, 0.5), storage);
    expect_stated_cost(what + (storage == test::Storage::kDense ? ", dense" : ", sparse"), learner,
                       data, static_cast<std::int64_t>(classes));
  }
}

TEST(LearnerCost, OfLinearModelsIsWhatTheySend) {
  expect_stated_cost("lbfgs", Kind::kSvm, six_rounds(Solver::kLbfgs), 2);
  expect_stated_cost("sgd", Kind::kSvm, six_rounds(Solver::kSgd), 2);
  expect_stated_cost("sgd at a given rate", Kind::kSvm,
                     six_rounds(Solver::kSgd, Send::kModel, 0.01), 2);
  expect_stated_cost("gradients", Kind::kSvm, six_rounds(Solver::kSgd, Send::kGradient), 2);
  expect_stated_cost("auto", Kind::kSvm, six_rounds(Solver::kAuto), 2);
  expect_stated_cost("auto, gradients", Kind::kLogistic, six_rounds(Solver::kAuto, Send::kGradient),
                     2);
  expect_stated_cost("hybrid", Kind::kLogistic, six_rounds(Solver::kHybrid), 2);
  expect_stated_cost("softmax", Kind::kLogistic, six_rounds(Solver::kLbfgs), 4);
  expect_stated_cost("sgd of several classes", Kind::kLogistic, six_rounds(Solver::kSgd), 3);
  expect_stated_cost("least squares", Kind::kLinear, six_rounds(Solver::kLbfgs), 0);
  expect_stated_cost("least squares by sgd", Kind::kLinear, six_rounds(Solver::kSgd), 0);
  Parameters parameters = six_rounds(Solver::kSgd);
  parameters.adaptive = true;
  expect_stated_cost("adaptive", Kind::kSvm, parameters, 2);
  expect_stated_cost("adaptive, several classes", Kind::kLogistic, parameters, 3);
  parameters = six_rounds(Solver::kAuto);
  parameters.fit_intercept = false;
  expect_stated_cost("without intercept", Kind::kSvm, parameters, 2);
}

TEST(LearnerCost, OfLinearSeedingIsStatisticsAndTheSearchForARate) {
  const Shape dense{10000, 30, 300000}, sparse{10000, 30, 50000, 2, true};
  const auto seeding = [&](const Parameters& parameters, const Shape& shape) {
    return rounds_of(linear::Linear(Kind::kSvm, parameters).course(shape), Phase::kPrepare);
  };
  EXPECT_EQ(seeding(six_rounds(Solver::kLbfgs), dense), 1);
  EXPECT_EQ(seeding(six_rounds(Solver::kSgd), dense), 2);
  EXPECT_EQ(seeding(six_rounds(Solver::kHybrid), dense), 2);
  EXPECT_EQ(seeding(six_rounds(Solver::kSgd, Send::kModel, 0.1), dense), 1);
  EXPECT_EQ(seeding(six_rounds(Solver::kSgd, Send::kGradient), sparse), 2);
  // Dense columns are centred: their moments travel.
  const linear::Linear sgd(Kind::kSvm, six_rounds(Solver::kSgd));
  EXPECT_EQ(sgd.course(dense).front().round.update_bytes, 8 * 2 * 30);
  EXPECT_EQ(sgd.course(sparse).front().round.update_bytes, 0);
}

TEST(LearnerCost, OfLinearModelsNamesTheLoopThatDoesIt) {
  const Shape dense{10000, 30, 300000}, sparse{10000, 30, 50000, 2, true};
  const auto kernel = [](Kind kind, const Parameters& parameters, const Shape& shape) {
    return linear::Linear(kind, parameters).cost(shape).kernel;
  };
  EXPECT_EQ(kernel(Kind::kSvm, six_rounds(Solver::kLbfgs), dense), "svm.lbfgs");
  EXPECT_EQ(kernel(Kind::kSvm, six_rounds(Solver::kSgd), dense), "svm.model");
  EXPECT_EQ(kernel(Kind::kLogistic, six_rounds(Solver::kSgd, Send::kGradient), dense),
            "logistic.gradient");
  EXPECT_EQ(kernel(Kind::kLinear, six_rounds(Solver::kAuto), dense), "linear.lbfgs");
  // Averaging pays where rows are many.
  EXPECT_EQ(kernel(Kind::kSvm, six_rounds(Solver::kAuto), sparse), "svm.model");
  EXPECT_EQ(kernel(Kind::kSvm, six_rounds(Solver::kAuto), {100, 30, 500, 2, true}), "svm.lbfgs");
}

TEST(LearnerCost, OfAGradientIsThatOfItsBatch) {
  const Shape shape{10000, 30, 300000, 3};
  Parameters parameters = six_rounds(Solver::kSgd, Send::kGradient);
  parameters.batch_fraction = 0.05;
  const Cost batch = linear::Linear(Kind::kLogistic, parameters).cost(shape);
  const Cost pass = linear::Linear(Kind::kLogistic, six_rounds(Solver::kSgd)).cost(shape);
  EXPECT_DOUBLE_EQ(batch.flops, 0.05 * pass.flops);
  EXPECT_EQ(pass.flops, 4.0 * 300000 * 3);
  EXPECT_EQ(pass.outputs, 3);
  EXPECT_EQ(batch.update_bytes, pass.update_bytes);
}

}  // namespace
}  // namespace meanwhile::learn
