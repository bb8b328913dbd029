// Data and parameters that cannot be learned from, or seem so; and model files that are damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "test/expect_error.h"
#include "test/learn/linear_data.h"

namespace meanwhile::learn::linear {
namespace {

using base::ErrorKind;
using test::Labelled;
using test::on;
using test::Storage;
using testing::AllOf;
using testing::HasSubstr;

std::string train_error(ErrorKind error, Kind kind, const Parameters& p, const Labelled& data,
                        Storage storage = Storage::kSparse) {
  return error_of(error, [&] { test::train(kind, p, test::dataset(data, storage)); });
}

TEST(LinearBadInput, OneClassInAll) {
  Labelled data = test::rows_for(2, 100, 3, 1);
  data.y.assign(100, 4);
  EXPECT_THAT(train_error(ErrorKind::kInput, Kind::kSvm, {}, data),
              HasSubstr("every label is 4: a classifier needs at least two classes"));
}

TEST(LinearBadInput, NoLabels) {
  for (const Kind kind : {Kind::kSvm, Kind::kLinear}) {
    Linear learner(kind, {});
    const auto x = test::uniform<double>(50, 2, 1);
    EXPECT_THAT(input_error_of([&] { job::train(learner, test::sparse(x, 2), on(2)); }),
                HasSubstr("the data has no labels"));
  }
}

TEST(LinearBadInput, MoreClassesThanClassesCanBe) {
  Labelled data = test::rows_for(0, 1500, 2, 2);
  EXPECT_THAT(train_error(ErrorKind::kInput, Kind::kLogistic, {}, data),
              AllOf(HasSubstr("more than 1000 different labels"), HasSubstr("train linear")));
}

// Blocks of rows that are all of one class but one: shards see one class, or no row at all.
TEST(LinearBadInput, AClassMissingOnMostShardsIsLearned) {
  Labelled data = test::rows_for(2, 4096, 3, 3, 1, 0.1);
  std::vector<std::size_t> order;
  for (const double wanted : {0.0, 1.0}) {
    for (std::size_t i = 0; i < data.rows(); ++i) {
      if (data.y[i] == wanted && (wanted == 0 || order.size() % 7 != 0 || i % 8 == 0)) {
        order.push_back(i);
      }
    }
  }
  const Labelled sorted = test::in_order(data, order);
  for (const Solver solver : {Solver::kSgd, Solver::kLbfgs, Solver::kHybrid}) {
    Parameters p;
    p.solver = solver;
    const auto t = test::train(Kind::kLogistic, p, test::dataset(sorted), on(16));
    EXPECT_GT(evaluate(t.model, test::dataset(sorted), 1)["accuracy"], 0.93) << to_string(solver);
  }
}

TEST(LinearBadInput, MoreShardsThanRowsIsFine) {
  const Labelled data = test::rows_for(2, 12, 2, 4, 1, 0.1);
  for (const Solver solver : {Solver::kSgd, Solver::kLbfgs, Solver::kHybrid}) {
    for (const Send send : {Send::kModel, Send::kGradient}) {
      for (const bool adaptive : {false, true}) {
        Parameters p;
        p.solver = send == Send::kGradient ? Solver::kSgd : solver;
        p.send = send, p.adaptive = adaptive, p.batch_fraction = 0.5;
        const auto t = test::train(Kind::kLogistic, p, test::dataset(data), on(40));
        EXPECT_GE(evaluate(t.model, test::dataset(data), 1)["accuracy"], 0.75)
            << to_string(solver) << to_string(send);
      }
    }
  }
}

TEST(LinearBadInput, SamplesThatAreOftenEmptyAreFine) {
  Parameters p;
  p.solver = Solver::kSgd, p.send = Send::kGradient, p.batch_fraction = 0.04, p.max_iter = 300;
  const Labelled data = test::rows_for(2, 40, 2, 5, 1, 0.1);
  const auto t = test::train(Kind::kLogistic, p, test::dataset(data), on(4));
  EXPECT_GE(evaluate(t.model, test::dataset(data), 1)["accuracy"], 0.75);
  EXPECT_GT(t.result.rounds, 20) << t.result.stopped_because;
}

TEST(LinearBadInput, ADivergingRateIsNamedWithWhatToTry) {
  for (const Kind kind : {Kind::kSvm, Kind::kLogistic, Kind::kLinear}) {
    for (const Send send : {Send::kModel, Send::kGradient}) {
      for (const Storage storage : {Storage::kSparse, Storage::kDense}) {
        for (const double rate : {1e4, 1e8}) {
          Parameters p;
          p.solver = Solver::kSgd, p.send = send, p.batch_fraction = 0.2, p.l2 = 0;
          p.learning_rate = rate;
          const Labelled data = test::rows_for(kind == Kind::kLinear ? 0 : 2, 1000, 5, 6);
          EXPECT_THAT(
              train_error(ErrorKind::kFailed, kind, p, data, storage),
              AllOf(HasSubstr("diverged"), HasSubstr("learning_rate"), HasSubstr("try"),
                    HasSubstr(fmt::format("{:.2g}", rate / 10)), testing::Not(HasSubstr("nan"))))
              << to_string(kind) << ' ' << to_string(send) << ' ' << rate;
        }
      }
    }
  }
}

TEST(LinearBadInput, ARateBeyondTheInverseOfL2IsRefused) {
  Parameters p;
  p.solver = Solver::kSgd, p.learning_rate = 3, p.l2 = 0.5;
  EXPECT_THAT(train_error(ErrorKind::kUsage, Kind::kSvm, p, test::rows_for(2, 100, 3, 7)),
              HasSubstr("learning_rate times l2 is 1.5; it must be below 1: try a rate of"));
}

TEST(LinearBadInput, ClassWeightsMustBeOfClasses) {
  const Labelled data = test::rows_for(2, 100, 3, 8);
  for (const char* bad : {"7:2", "0:1,1", "0:-1", "1:x", "1:", "0:nan", "unbalanced"}) {
    Parameters p;
    p.class_weight = OpenChoice<ClassWeight>(bad);
    EXPECT_THAT(train_error(ErrorKind::kUsage, Kind::kSvm, p, data),
                AllOf(HasSubstr("class_weight"), HasSubstr("0 to 1")))
        << bad;
  }
  Parameters p;
  p.class_weight = OpenChoice<ClassWeight>("0:0,1:0");
  EXPECT_THAT(train_error(ErrorKind::kUsage, Kind::kSvm, p, data), HasSubstr("weight of 0"));
}

TEST(LinearBadInput, RowsThatAllWeighNothing) {
  Labelled data = test::rows_for(2, 100, 3, 9);
  data.weights.assign(100, 0);
  EXPECT_THAT(train_error(ErrorKind::kInput, Kind::kLogistic, {}, data), HasSubstr("weight"));
}

TEST(LinearBadInput, LabelsThatAreAllTheSameAreAConstant) {
  Labelled data = test::rows_for(0, 300, 3, 10);
  data.y.assign(300, 5);
  for (const Loss loss : {Loss::kSquared, Loss::kHuber}) {
    for (const Solver solver : {Solver::kSgd, Solver::kLbfgs, Solver::kHybrid}) {
      Parameters p;
      p.loss = loss, p.solver = solver;
      const auto t = test::train(Kind::kLinear, p, test::dataset(data));
      EXPECT_NEAR(t.w[3], 5, 1e-6) << to_string(loss) << to_string(solver);
      EXPECT_NEAR(t.w[0], 0, 1e-6) << to_string(loss) << to_string(solver);
    }
  }
}

TEST(LinearBadInput, BadParametersAreNamed) {
  const auto error = [](Kind kind, const Parameters& p) {
    return error_of(ErrorKind::kUsage, [&] { Linear(kind, p); });
  };
  const auto with = [](auto set) {
    Parameters p;
    set(p);
    return p;
  };
  EXPECT_THAT(error(Kind::kSvm, with([](auto& p) { p.loss = Loss::kLogistic; })),
              HasSubstr("loss"));
  EXPECT_THAT(error(Kind::kSvm, with([](auto& p) { p.l2 = -1; })), HasSubstr("l2"));
  EXPECT_THAT(error(Kind::kSvm, with([](auto& p) { p.l1 = NAN; })), HasSubstr("l1"));
  EXPECT_THAT(error(Kind::kSvm, with([](auto& p) { p.multi_class = MultiClass::kSoftmax; })),
              HasSubstr("multi_class"));
  EXPECT_THAT(error(Kind::kLinear, with([](auto& p) { p.class_weight = ClassWeight::kBalanced; })),
              HasSubstr("class_weight"));
  EXPECT_THAT(error(Kind::kSvm, with([](auto& p) { p.batch_fraction = 0; })),
              HasSubstr("batch_fraction"));
  EXPECT_THAT(
      error(Kind::kSvm, with([](auto& p) { p.solver = Solver::kLbfgs, p.send = Send::kGradient; })),
      HasSubstr("send"));
}

}  // namespace
}  // namespace meanwhile::learn::linear
