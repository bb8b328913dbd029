// When training ends, why it says so, and which model is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "meanwhile/base/counted.h"
#include "test/learn/linear_serial.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using test::on;
using test::Storage;
using testing::HasSubstr;
using testing::StartsWith;

TEST(LinearStop, MaxIterIsTheNumberOfRounds) {
  const Labelled data = test::rows_for(2, 1000, 5, 1);
  for (const Solver solver : {Solver::kSgd, Solver::kLbfgs, Solver::kHybrid}) {
    for (const std::int64_t most : {1, 4}) {
      Parameters p;
      p.solver = solver, p.max_iter = most, p.tol = 0;
      const auto t = test::train(Kind::kLogistic, p, test::dataset(data));
      EXPECT_EQ(t.result.rounds, most) << to_string(solver);
      EXPECT_EQ(t.result.stopped_because,
                fmt::format("max_iter: {} done", base::counted(most, "round")));
      EXPECT_TRUE(t.result.done);
      // The score is that of the model that is kept, whatever the last round looked at.
      const test::SerialLinear serial{data, "logistic", 2, false, true, 0, p.l2};
      EXPECT_NEAR(t.result.objective, serial.objective(t.w), 1e-12) << to_string(solver);
    }
  }
}

TEST(LinearStop, ASmallerToleranceTakesMoreRoundsAndGetsFurther) {
  const Labelled data = test::rows_for(2, 1000, 5, 2);
  for (const Solver solver : {Solver::kSgd, Solver::kLbfgs, Solver::kHybrid}) {
    Parameters p;
    p.solver = solver, p.tol = 0.05;
    const auto rough = test::train(Kind::kLogistic, p, test::dataset(data));
    p.tol = 1e-6;
    const auto fine = test::train(Kind::kLogistic, p, test::dataset(data));
    EXPECT_LT(rough.result.rounds, fine.result.rounds) << to_string(solver);
    EXPECT_LE(fine.result.objective, rough.result.objective) << to_string(solver);
    EXPECT_THAT(rough.result.stopped_because, StartsWith("converged")) << to_string(solver);
  }
}

// Labels that no weight can explain: every model but the first is worse on rows held out.
Labelled noise(std::size_t rows, std::int64_t cols, unsigned seed) {
  Labelled data;
  data.cols = cols;
  data.x = test::uniform<double>(static_cast<std::int64_t>(rows), cols, seed, -1, 1);
  for (const double u : test::uniform<double>(static_cast<std::int64_t>(rows), 1, seed + 1)) {
    data.y.push_back(u < 0.5 ? 0 : 1);
  }
  return data;
}

TEST(LinearStop, HeldOutLossThatNoLongerFallsEndsItAndTheBestModelIsKept) {
  const Labelled data = noise(400, 60, 3);
  const data::Part eval = data::whole(test::dataset(noise(2000, 60, 5)), 4, 1, 1);
  for (const Solver solver : {Solver::kSgd, Solver::kLbfgs}) {
    Parameters p;
    p.solver = solver, p.l2 = 0, p.patience = 4;
    job::TrainOptions options = on(4);
    options.eval = &eval;
    const auto t = test::train(Kind::kLogistic, p, test::dataset(data), options);
    EXPECT_EQ(t.result.stopped_because, "the held-out loss has not fallen for 4 rounds")
        << to_string(solver);
    double best = INFINITY;
    std::int64_t best_round = 0;
    for (const auto& event : t.rounds) {
      const double loss = event.outcome.record["held_out_loss"];
      if (loss < best) best = loss, best_round = event.round;
    }
    EXPECT_EQ(t.result.rounds, best_round + 4) << to_string(solver);
    EXPECT_NEAR(evaluate(t.model, eval.data, 1)["loss"], best, 1e-12) << to_string(solver);
  }
}

// A held-out loss that rises for a few rounds may still fall.
TEST(LinearStop, TenRoundsWithoutALowerHeldOutLossEndItByDefault) {
  const Labelled data = noise(400, 60, 3);
  const data::Part eval = data::whole(test::dataset(noise(2000, 60, 5)), 4, 1, 1);
  for (const Solver solver : {Solver::kSgd, Solver::kLbfgs}) {
    Parameters p;
    p.solver = solver, p.l2 = 0, p.tol = 0;
    job::TrainOptions options = on(4);
    options.eval = &eval;
    const auto t = test::train(Kind::kLogistic, p, test::dataset(data), options);
    EXPECT_EQ(t.result.stopped_because, "the held-out loss has not fallen for 10 rounds")
        << to_string(solver);
  }
}

TEST(LinearStop, AShareOfTheRowsIsHeldOutAndNeverLearned) {
  // Each row has a column of its own: a weight that is not zero tells who was learned from. The
  // last column is for all, so that there is something to be learned for rows held out.
  Labelled data;
  data.cols = 1001;
  data.x.assign(1000 * 1001, 0.0);
  for (std::size_t i = 0; i < 1000; ++i) {
    data.x[i * 1001 + i] = 1;
    data.x[i * 1001 + 1000] = i % 2 == 0 ? 1 : -1;
    data.y.push_back(i % 2 == 0 ? 1 : 0);
  }
  for (const Solver solver : {Solver::kSgd, Solver::kLbfgs, Solver::kHybrid}) {
    for (const Send send : {Send::kModel, Send::kGradient}) {
      if (solver != Solver::kSgd && send == Send::kGradient) continue;
      Parameters p;
      p.solver = solver, p.send = send, p.batch_fraction = 0.9;
      p.validation_fraction = 0.3, p.max_iter = 12, p.patience = 100;
      p.fit_intercept = false;
      const auto t = test::train(Kind::kLogistic, p, test::dataset(data));
      const auto learned = std::count_if(t.w.begin(), t.w.end(), [](double w) { return w != 0; });
      EXPECT_NEAR(static_cast<double>(learned), 700, 60) << to_string(solver) << to_string(send);
      EXPECT_TRUE(t.rounds[0].outcome.record.contains("held_out_accuracy"));
    }
  }
}

TEST(LinearStop, EveryRoundOfSgdSaysItsRate) {
  Parameters p;
  p.solver = Solver::kSgd;
  const auto t = test::train(Kind::kSvm, p, test::dataset(test::rows_for(2, 1000, 5, 7)));
  for (const auto& event : t.rounds) EXPECT_GT(event.outcome.record["learning_rate"], 0);
  p.learning_rate = 0.01, p.l2 = 0;
  const auto given = test::train(Kind::kSvm, p, test::dataset(test::rows_for(2, 1000, 5, 7)));
  for (const auto& event : given.rounds) {
    EXPECT_EQ(event.outcome.record["learning_rate"], 0.01);
  }
}

// The objective of samples goes up and down by chance: no reason to believe that all is done.
TEST(LinearStop, ChanceDoesNotEndSampledGradients) {
  const Labelled data = test::rows_for(2, 3000, 10, 8);
  Parameters p;
  p.solver = Solver::kSgd, p.send = Send::kGradient, p.batch_fraction = 0.01, p.max_iter = 100;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto t = test::train(Kind::kLogistic, p, test::dataset(data), on(4, seed));
    EXPECT_EQ(t.result.rounds, 100) << t.result.stopped_because;
  }
}

// The first pass reports what it met on its way from nothing: later ones cannot be below it where
// penalties are large, and yet there is more to learn.
TEST(LinearStop, TheFirstPassIsNoMeasureForTheNext) {
  const Labelled data = test::rows_for(2, 3000, 60, 9, 0.1, 3);
  Parameters p;
  p.solver = Solver::kSgd, p.l1 = 0.01, p.l2 = 0;
  for (const Storage storage : {Storage::kSparse, Storage::kDense}) {
    const auto t = test::train(Kind::kLogistic, p, test::dataset(data, storage));
    Parameters q = p;
    q.solver = Solver::kLbfgs;
    const auto best = test::train(Kind::kLogistic, q, test::dataset(data, storage));
    EXPECT_LT(t.result.objective, 1.01 * best.result.objective);
  }
}

}  // namespace
}  // namespace meanwhile::learn::linear
