// Going on: from a checkpoint with the same bits, from a model with other data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <ostream>

#include "test/expect_error.h"
#include "test/learn/linear_serial.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using test::on;
using test::Storage;
using testing::HasSubstr;

struct Case {
  const char* name;
  Kind kind;
  Parameters parameters;
  Storage storage = Storage::kSparse;
  std::size_t classes = 2;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

Parameters with(Solver solver, Send send = Send::kModel) {
  Parameters p;
  p.solver = solver, p.send = send, p.batch_fraction = 0.3;
  p.tol = 1e-6, p.max_iter = 24;
  return p;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  list.push_back({"model", Kind::kSvm, with(Solver::kSgd)});
  list.push_back({"model_dense", Kind::kSvm, with(Solver::kSgd), Storage::kDense});
  list.push_back({"gradient", Kind::kLogistic, with(Solver::kSgd, Send::kGradient)});
  list.push_back({"lbfgs", Kind::kLogistic, with(Solver::kLbfgs)});
  list.push_back({"hinge", Kind::kSvm, with(Solver::kLbfgs)});
  list.push_back({"hybrid", Kind::kSvm, with(Solver::kHybrid)});
  list.push_back({"softmax", Kind::kLogistic, with(Solver::kHybrid), Storage::kSparse, 4});
  list.push_back({"huber", Kind::kLinear, with(Solver::kHybrid), Storage::kDense, 0});
  list.back().parameters.loss = Loss::kHuber;
  Parameters p = with(Solver::kSgd);
  p.adaptive = p.average = true, p.l1 = 1e-4;
  list.push_back({"adaptive_average", Kind::kLogistic, p});
  p = with(Solver::kSgd, Send::kGradient);
  p.adaptive = p.average = true;
  list.push_back({"gradient_average", Kind::kLogistic, p});
  p = with(Solver::kLbfgs);
  p.l1 = 0.01, p.standardize = true, p.class_weight = ClassWeight::kBalanced;
  list.push_back({"owlqn", Kind::kLogistic, p});
  p = with(Solver::kHybrid);
  p.validation_fraction = 0.2, p.patience = 5;
  list.push_back({"held_out", Kind::kLogistic, p});
  p.solver = Solver::kSgd;
  list.push_back({"held_out_model", Kind::kLogistic, p});
  p = with(Solver::kWorkingSet);
  p.l1 = 0.02, p.block = 3, p.tol = 1e-10;
  list.push_back({"sets", Kind::kLinear, p, Storage::kSparse, 0});
  list.push_back({"sets_logistic", Kind::kLogistic, p});
  p.l1 = 0, p.path = 6, p.path_ratio = 0.1, p.block = 100, p.tol = 1e-7;
  list.push_back({"sets_path_dense", Kind::kLinear, p, Storage::kDense, 0});
  p.loss = Loss::kSquaredHinge, p.validation_fraction = 0.2, p.max_iter = 4;
  list.push_back({"sets_path_held_out", Kind::kSvm, p});
  return list;
}

class LinearResume : public testing::TestWithParam<Case> {
 protected:
  LinearResume()
      : c_(GetParam()),
        data_(test::dataset(test::rows_for(c_.classes, 600, 8, 3, 0.5), c_.storage)) {}

  job::TrainResult go_on(const RoundLearner& from, std::int64_t rounds) {
    const TemporaryFolder folder;
    job::write_state(folder / "state", from.state(), rounds);
    Linear next(c_.kind, c_.parameters);
    next.restore(data::SafetensorsFile(folder / "state"));
    job::TrainOptions options = on(3);
    options.rounds_done = rounds;
    return job::train(next, data_, options);
  }

  const Case c_;
  const data::Dataset data_;
};

TEST_P(LinearResume, AfterAnInterruptGivesTheSameBits) {
  const auto whole = test::train(c_.kind, c_.parameters, data_, on(3)).result;
  for (const std::int64_t after : {0, 1, 2, 3, 5, 8, 13, 19}) {
    if (after >= whole.rounds) break;
    Linear first(c_.kind, c_.parameters);
    std::atomic<bool> stop = false;
    const auto part =
        job::train(first, data_, on(3), nullptr, &stop, [&](const job::RoundEvent& event) {
          // After 0 rounds: behind the statistics, before the first step.
          if (event.round >= after) stop = true;
        });
    ASSERT_TRUE(part.interrupted);
    const auto resumed = go_on(first, part.rounds);
    EXPECT_EQ(resumed.model_sha256, whole.model_sha256) << after;
    EXPECT_EQ(resumed.rounds, whole.rounds) << after;
    EXPECT_EQ(resumed.stopped_because, whole.stopped_because) << after;
  }
}

TEST_P(LinearResume, WithMoreRoundsThanItHadGivesTheSameBits) {
  const auto whole = test::train(c_.kind, c_.parameters, data_, on(3)).result;
  for (const std::int64_t after : {1, 2, 3, 4, 6, 9, 14, 20}) {
    const std::int64_t rounds = after * std::max<std::int64_t>(1, c_.parameters.path);
    if (rounds >= whole.rounds) break;
    Parameters few = c_.parameters;
    few.max_iter = after;
    Linear first(c_.kind, few);
    const auto part = job::train(first, data_, on(3));
    ASSERT_EQ(part.rounds, rounds) << part.stopped_because;
    const auto resumed = go_on(first, rounds);
    EXPECT_EQ(resumed.model_sha256, whole.model_sha256) << after;
    EXPECT_EQ(resumed.rounds, whole.rounds) << after;
  }
}

TEST_P(LinearResume, OfWhatHasEndedEndsAtOnceOrSaysWhyNot) {
  Linear first(c_.kind, c_.parameters);
  const auto whole = job::train(first, data_, on(3));
  try {
    const auto again = go_on(first, whole.rounds);
    EXPECT_EQ(again.rounds, whole.rounds);
    EXPECT_EQ(again.model_sha256, whole.model_sha256);
    EXPECT_NEAR(again.objective, whole.objective, 1e-12);
  } catch (const base::Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("start from its model instead"));
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, LinearResume, testing::ValuesIn(cases()),
                         [](const auto& tested) { return std::string(tested.param.name); });

struct Saved {
  TemporaryFolder folder;
  explicit Saved(const RoundLearner& learner) {
    job::write_state(folder / "model", learner.state(), 0);
  }
  data::SafetensorsFile file() const { return data::SafetensorsFile(folder / "model"); }
};

TEST(LinearWarmStart, FromTheOptimumHasNothingLeftToDo) {
  const data::Dataset data = test::dataset(test::rows_for(2, 600, 8, 4));
  Parameters p;
  p.solver = Solver::kLbfgs, p.tol = 1e-9;
  Linear first(Kind::kLogistic, p);
  const auto cold = test::train(first, data);
  Linear second(Kind::kLogistic, p);
  second.start_from(Saved(first).file());
  const auto warm = test::train(second, data);
  EXPECT_LT(warm.result.rounds, cold.result.rounds);
  EXPECT_NEAR(warm.rounds[0].outcome.objective, cold.result.objective, 1e-12);
  EXPECT_LE(warm.result.objective, cold.result.objective * (1 + 1e-12));
}

TEST(LinearWarmStart, NewDataAreLearnedWithTheRateComeTo) {
  const Labelled both = test::rows_for(2, 4000, 8, 5);
  std::vector<std::size_t> early(2000), late(2000);
  for (std::size_t i = 0; i < 2000; ++i) early[i] = i, late[i] = 2000 + i;
  Parameters p;
  p.solver = Solver::kSgd, p.l2 = 1e-2, p.max_iter = 3, p.tol = 0;
  Linear first(Kind::kLogistic, p);
  const auto before = test::train(first, test::dataset(test::in_order(both, early)));
  p.max_iter = 1;
  Linear second(Kind::kLogistic, p);
  second.start_from(Saved(first).file());
  const auto after = test::train(second, test::dataset(test::in_order(both, late)));
  const double rate = after.rounds[0].outcome.record["learning_rate"];
  EXPECT_LT(rate, before.rounds[2].outcome.record["learning_rate"].get<double>());
  EXPECT_GT(rate, before.rounds[2].outcome.record["learning_rate"].get<double>() / 10);
  EXPECT_NE(after.w, before.w);
  // The rows before are not forgotten.
  const test::SerialLinear all{both, "logistic", 2, false, true, 0, p.l2};
  EXPECT_LT(all.objective(after.w), 1.05 * all.objective(all.solve(2000)));
}

TEST(LinearWarmStart, NewDataMayLackAClassButHaveNoNewOne) {
  Labelled data = test::rows_for(3, 600, 4, 6);
  Parameters p;
  Linear first(Kind::kLogistic, p);
  test::train(first, test::dataset(data));
  const Saved saved(first);
  for (double& y : data.y) y = y == 2 ? 0 : y;
  Linear second(Kind::kLogistic, p);
  second.start_from(saved.file());
  EXPECT_EQ(test::train(second, test::dataset(data)).model.classes, (std::vector<double>{0, 1, 2}));
  data.y[5] = 9;
  Linear third(Kind::kLogistic, p);
  third.start_from(saved.file());
  EXPECT_THAT(input_error_of([&] { test::train(third, test::dataset(data)); }),
              HasSubstr("label 9 is none of the 3 classes"));
}

// Files name the same words in the order in which they met them.
TEST(LinearWarmStart, WordsKeepTheirClassesWhateverTheirOrder) {
  Labelled data = test::rows_for(2, 600, 4, 7, 1, 0.2);
  data.class_names = {"no", "yes"};
  Parameters p;
  p.solver = Solver::kLbfgs;
  Linear first(Kind::kLogistic, p);
  const auto before = test::train(first, test::dataset(data));
  const Saved saved(first);
  Labelled other = data;
  other.class_names = {"yes", "no"};
  for (double& y : other.y) y = 1 - y;
  Linear second(Kind::kLogistic, p);
  second.start_from(saved.file());
  const data::Part eval = data::whole(test::dataset(other), 4, 1, 1);
  job::TrainOptions options = on(4);
  options.eval = &eval;
  const auto after = test::train(second, test::dataset(other), options);
  EXPECT_EQ(after.model.class_names, data.class_names);
  EXPECT_LT(test::distance(after.w, before.w), 0.05);
  EXPECT_GT(after.rounds[0].outcome.record["held_out_accuracy"], 0.9);
  other.class_names = {"yes", "maybe"};
  Linear third(Kind::kLogistic, p);
  third.start_from(saved.file());
  EXPECT_THAT(input_error_of([&] { test::train(third, test::dataset(other)); }),
              HasSubstr("label maybe is none of the 2 classes"));
  other.class_names = {};
  Linear fourth(Kind::kLogistic, p);
  fourth.start_from(saved.file());
  EXPECT_THAT(input_error_of([&] { test::train(fourth, test::dataset(other)); }),
              HasSubstr("is a number, but the classes of the model are words"));
}

TEST(LinearWarmStart, TheModelMustFitTheDataAndTheLearner) {
  Linear first(Kind::kLogistic, {});
  test::train(first, test::dataset(test::rows_for(2, 300, 4, 8)));
  const Saved saved(first);
  Linear svm(Kind::kSvm, {});
  EXPECT_THAT(error_of(base::ErrorKind::kUsage, [&] { svm.start_from(saved.file()); }),
              HasSubstr("one of logistic, not of svm"));
  Linear wider(Kind::kLogistic, {});
  wider.start_from(saved.file());
  EXPECT_THAT(
      input_error_of([&] { test::train(wider, test::dataset(test::rows_for(2, 300, 5, 8))); }),
      HasSubstr("5 weights"));
}

}  // namespace
}  // namespace meanwhile::learn::linear
