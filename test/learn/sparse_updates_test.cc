// Learners whose updates are touched rows only, against the same learners made to send all rows:
// the models must agree in every bit.
#include <gtest/gtest.h>

#include "meanwhile/learn/lda/lda.h"
#include "meanwhile/learn/linear/linear.h"
#include "test/learn/lda_data.h"
#include "test/learn/linear_data.h"
#include "test/learn/wrapped_learner.h"

namespace meanwhile::learn {
namespace {

// Sends all rows, and counts the blocks that would have been touched rows only.
class Dense final : public test::WrappedLearner {
 public:
  using WrappedLearner::WrappedLearner;

  int sparse = 0;

  exchange::UpdateShape update_shape() const override {
    exchange::UpdateShape shape = learner_.update_shape();
    for (exchange::Block& block : shape) block.sparse = false;
    return shape;
  }
  Outcome absorb(const exchange::Update& total) override {
    for (const exchange::Block& block : learner_.update_shape()) sparse += block.sparse ? 1 : 0;
    return learner_.absorb(total);
  }
};

// Trains both, and expects that `rounds` at least had sparse blocks.
void expect_same(RoundLearner& one, RoundLearner& other, const data::Dataset& data,
                 const job::TrainOptions& options, int rounds) {
  const job::TrainResult sparse = job::train(one, data, options);
  Dense wrapped(other);
  const job::TrainResult dense = job::train(wrapped, data, options);
  EXPECT_GE(wrapped.sparse, rounds);
  EXPECT_EQ(sparse.model_sha256, dense.model_sha256);
  EXPECT_EQ(sparse.rounds, dense.rounds);
  EXPECT_EQ(sparse.record, dense.record);
}

void expect_same(linear::Kind kind, const linear::Parameters& parameters, std::size_t classes,
                 int rounds = 3) {
  // 120 rows of about five values each, in four shards: two touch few of the 20,000 columns.
  const auto data = test::dataset(test::rows_for(classes, 120, 20'000, 3, 0.00025));
  linear::Linear one(kind, parameters), other(kind, parameters);
  expect_same(one, other, data, test::on(4), rounds);
}

TEST(SparseUpdates, OfLbfgsAgreeWithDenseOnes) {
  linear::Parameters p;
  p.solver = linear::Solver::kLbfgs, p.max_iter = 8;
  expect_same(linear::Kind::kLogistic, p, 2);
  expect_same(linear::Kind::kSvm, p, 2);
  expect_same(linear::Kind::kLogistic, p, 4);
  expect_same(linear::Kind::kLinear, p, 0);
  p.l1 = 1e-3, p.standardize = true;
  expect_same(linear::Kind::kLogistic, p, 2);
}

TEST(SparseUpdates, OfAveragedModelsAgreeWithDenseOnes) {
  for (const bool adaptive : {false, true}) {
    for (const bool average : {false, true}) {
      linear::Parameters p;
      p.solver = linear::Solver::kSgd, p.max_iter = 5, p.tol = 0;
      p.adaptive = adaptive, p.average = average;
      expect_same(linear::Kind::kSvm, p, 2);
      expect_same(linear::Kind::kLogistic, p, 3);
      p.l1 = 1e-3;
      expect_same(linear::Kind::kSvm, p, 2);
    }
  }
}

TEST(SparseUpdates, OfSampledGradientsAgreeWithDenseOnes) {
  for (const bool adaptive : {false, true}) {
    linear::Parameters p;
    p.solver = linear::Solver::kSgd, p.send = Send::kGradient, p.batch_fraction = 0.3;
    p.max_iter = 10, p.tol = 0, p.adaptive = adaptive;
    expect_same(linear::Kind::kSvm, p, 2);
    expect_same(linear::Kind::kLogistic, p, 4);
    expect_same(linear::Kind::kLinear, p, 0);
    p.standardize = true, p.validation_fraction = 0.2;
    expect_same(linear::Kind::kSvm, p, 2);
  }
}

TEST(SparseUpdates, OfTopicsAgreeWithDenseOnes) {
  const auto data = test::dataset(test::some_documents(90, 400, 5));
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const lda::Precision precision : {lda::Precision::kSingle, lda::Precision::kDouble}) {
      lda::Parameters p;
      p.n_topics = 4, p.send = send, p.precision = precision, p.passes = 3, p.batch_size = 20;
      lda::Lda one(p), other(p);
      expect_same(one, other, data, test::with_shards(3), 5);
    }
  }
}

// Gains are scaled afresh when they become small: then, too, only words that were touched count.
TEST(SparseUpdates, OfTopicsAgreeWhereStepsAreLong) {
  const auto data = test::dataset(test::some_documents(200, 300, 6));
  lda::Parameters p;
  p.n_topics = 3, p.passes = 2, p.batch_size = 100, p.tau0 = 1, p.kappa = 0.51;
  p.send = Send::kModel;
  lda::Lda one(p), other(p);
  expect_same(one, other, data, test::with_shards(2), 3);
}

}  // namespace
}  // namespace meanwhile::learn
