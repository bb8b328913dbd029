// Model files that are damaged or made up: refused, or harmless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "test/expect_error.h"
#include "test/learn/linear_data.h"

namespace meanwhile::learn::linear {
namespace {

using testing::HasSubstr;

// The state of a job that was interrupted, to be spoiled.
class File {
 public:
  File(Kind kind, const Parameters& parameters, std::size_t classes = 2, std::int64_t rounds = 3)
      : kind_(kind),
        parameters_(parameters),
        data_(test::dataset(test::rows_for(classes, 300, 4, 1))),
        learner_(kind, parameters) {
    std::atomic<bool> stop = false;
    job::train(learner_, data_, test::on(2), nullptr, &stop,
               [&](const job::RoundEvent& event) { stop = event.round >= rounds; });
    state = learner_.state();
  }

  template <class T>
  void replace(const std::string& name, const std::vector<T>& values,
               std::vector<std::int64_t> shape = {}) {
    auto& tensors = state.learned.contains(name) ? state.learned : state.carried;
    auto kept = std::make_shared<std::vector<T>>(values);
    kept_.push_back(kept);
    if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
    tensors[name] = data::tensor_of<T>(*kept, shape);
  }
  void go_on() const {
    const TemporaryFolder folder;
    job::write_state(folder / "state", state, 3);
    Linear learner(kind_, parameters_);
    learner.restore(data::SafetensorsFile(folder / "state"));
    job::train(learner, data_, test::on(2));
  }
  std::string error() const {
    return input_error_of([&] { go_on(); });
  }

  State state;

 private:
  const Kind kind_;
  const Parameters parameters_;
  const data::Dataset data_;
  Linear learner_;
  std::vector<std::shared_ptr<const void>> kept_;
};

Parameters lbfgs() {
  Parameters p;
  p.solver = Solver::kLbfgs, p.tol = 1e-9;
  return p;
}

TEST(LinearState, IsReadWhenItIsWhole) { EXPECT_NO_THROW(File(Kind::kLogistic, lbfgs()).go_on()); }

TEST(LinearState, WeightsMustBeNumbers) {
  File file(Kind::kLogistic, lbfgs());
  file.replace<double>("weights", {1, NAN, 2, 3}, {4, 1});
  EXPECT_THAT(file.error(), HasSubstr("weights hold what is no number"));
  file.replace<double>("weights", {1, INFINITY, 2, 3}, {4, 1});
  EXPECT_THAT(file.error(), HasSubstr("weights hold what is no number"));
}

TEST(LinearState, ShapesMustFit) {
  File file(Kind::kLogistic, lbfgs());
  file.replace<double>("weights", {1, 2, 3, 4}, {4});
  EXPECT_THAT(file.error(), HasSubstr("weights are no matrix"));
  file.replace<double>("weights", {1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(file.error(), HasSubstr("intercepts do not fit"));
  file.replace<double>("weights", {1, 2, 3}, {3, 1});
  file.error();
}

TEST(LinearState, WhatIsCarriedMustBeWhole) {
  for (const char* name : {"lbfgs_x", "lbfgs_g", "lbfgs_d", "moments", "class_sums"}) {
    File missing(Kind::kLogistic, lbfgs());
    ASSERT_EQ(missing.state.carried.erase(name), 1U) << name;
    EXPECT_NE(missing.error(), "") << name;
    File cut(Kind::kLogistic, lbfgs());
    cut.replace<double>(name, {1, 2, 3});
    EXPECT_THAT(cut.error(), HasSubstr("has 3 numbers, expected")) << name;
  }
  File pair(Kind::kLogistic, lbfgs());
  ASSERT_EQ(pair.state.carried.erase("lbfgs_s_000"), 1U);
  EXPECT_THAT(pair.error(), HasSubstr("pair 0 of L-BFGS is missing"));
}

TEST(LinearState, WhatLaterStagesNeedMustBeThereToo) {
  Parameters p;
  p.solver = Solver::kHybrid, p.tol = 1e-9;
  File moments(Kind::kSvm, p, 2, 1);
  ASSERT_EQ(moments.state.progress["stage"], "model");
  moments.state.carried.erase("moments");
  EXPECT_THAT(moments.error(), HasSubstr("lacks the state that these parameters need"));
  p.solver = Solver::kSgd, p.adaptive = true;
  File squares(Kind::kSvm, p, 2, 1);
  ASSERT_EQ(squares.state.carried.erase("squares"), 1U);
  EXPECT_THAT(squares.error(), HasSubstr("lacks the state that these parameters need"));
}

TEST(LinearState, AStageNobodyKnowsIsRefused) {
  File file(Kind::kLogistic, lbfgs());
  file.state.progress["stage"] = "siesta";
  EXPECT_THAT(file.error(), HasSubstr("its stage is 'siesta'"));
  file.state.progress["stage"] = 7;
  EXPECT_THAT(file.error(), HasSubstr("not a linear model"));
}

TEST(LinearState, AnEndInTheMidstOfAStageIsAnEnd) {
  File file(Kind::kLogistic, lbfgs());
  file.state.progress["ended"] = "because it was made up";
  EXPECT_NO_THROW(file.go_on());
}

TEST(LinearState, SoftmaxIsForSeveralClassesOfLogistic) {
  File two(Kind::kLogistic, lbfgs());
  two.state.about["softmax"] = true;
  EXPECT_THAT(two.error(), HasSubstr("softmax"));
  File svm(Kind::kSvm, lbfgs(), 3);
  svm.state.about["softmax"] = true;
  EXPECT_THAT(svm.error(), HasSubstr("softmax"));
  File regression(Kind::kLinear, lbfgs(), 0);
  regression.state.about["softmax"] = true;
  EXPECT_THAT(regression.error(), HasSubstr("softmax"));
}

TEST(LinearState, ClassesMustFitTheWeights) {
  const Json bad[] = {Json::array({0, 1, 2}), Json::array({1}),        Json::array(),
                      Json::array({1, 0}),    Json::array({"a", "b"}), 3};
  for (const Json& classes : bad) {
    File file(Kind::kLogistic, lbfgs());
    file.state.about["classes"] = classes;
    EXPECT_THAT(file.error(), HasSubstr("not a linear model")) << classes;
  }
  File named(Kind::kLogistic, lbfgs());
  named.state.about["class_names"] = Json::array({"only"});
  EXPECT_THAT(named.error(), HasSubstr("a class has no name"));
}

}  // namespace
}  // namespace meanwhile::learn::linear
