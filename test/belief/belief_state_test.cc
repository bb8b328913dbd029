// Going on from a state, and what a model says.
#include <gtest/gtest.h>

#include <ostream>

#include "meanwhile/learn/belief/model.h"
#include "test/belief/rounds.h"
#include "test/belief/serial.h"
#include "test/expect_error.h"

namespace meanwhile::learn::belief {
namespace {

struct Case {
  const char* name;
  Schedule schedule;
  double damping;
  bool zeros;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

class BeliefResume : public testing::TestWithParam<Case> {
 protected:
  Parameters parameters() const {
    Parameters p;
    p.schedule = GetParam().schedule;
    p.damping = GetParam().damping;
    p.tol = 1e-9;
    p.max_iter = 60;
    return p;
  }
  data::Part part() const {
    test::RandomGraphs random(11);
    auto graph = random.grid(4, 2, 1);
    if (GetParam().zeros) random.add(graph, {0, 5, 10}, 1, 0.4);
    return test::factor_part(graph, 3);
  }
};

TEST_P(BeliefResume, GoesOnWithTheSameBits) {
  const data::Part rows = part();
  Belief whole(parameters());
  test::Rounds all(whole, rows);
  std::vector<std::string> hashes;
  for (;;) {
    const Outcome outcome = all.next();
    hashes.push_back(data::sha256(whole.state().learned));
    if (outcome.done()) break;
  }
  // Every round is the first one of another learner.
  auto learner = std::make_unique<Belief>(parameters());
  test::Rounds some(*learner, rows);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const Outcome outcome = some.next();
    ASSERT_EQ(data::sha256(learner->state().learned), hashes[i]) << i;
    EXPECT_EQ(outcome.done(), i + 1 == hashes.size());
    if (outcome.done()) break;
    const test::SavedState saved(*learner);
    auto next = std::make_unique<Belief>(parameters());
    next->restore(saved.file());
    some.change(*next);
    learner = std::move(next);
  }
  EXPECT_EQ(learner->progress().best().log_z, whole.progress().best().log_z);
}

INSTANTIATE_TEST_SUITE_P(Schedules, BeliefResume,
                         testing::Values(Case{"auto", Schedule::kAuto, 0, false},
                                         Case{"flood", Schedule::kFlood, 0, true},
                                         Case{"flood_damped", Schedule::kFlood, 0.3, false},
                                         Case{"sweep", Schedule::kSweep, 0, true},
                                         Case{"residual", Schedule::kResidual, 0, false},
                                         Case{"residual_zeros", Schedule::kResidual, 0.2, true}),
                         [](const auto& test) { return test.param.name; });

// A worker that had a shard, lost it and has it again goes on with the memory that others changed.
TEST(BeliefState, ForgetsWhatItKnewOfAShardThatOthersHad) {
  test::RandomGraphs random(14);
  const data::Part rows = test::factor_part(random.grid(4, 2, 1), 2);
  Parameters p;
  p.schedule = Schedule::kResidual;
  p.tol = 1e-9;
  Belief one(p), other(p);
  base::ThreadPool pool(1);
  for (Belief* learner : {&one, &other}) learner->attach({&rows, nullptr, 0, false, &pool});
  std::vector<ShardMemory> memory;
  for (int s = 0; s < 2; ++s) memory.emplace_back(one.memory_shape(s));
  Outcome outcome;
  for (int round = 0; !outcome.done(); ++round) {
    exchange::OrderedSum sum(2, one.update_shape());
    for (int s = 0; s < 2; ++s) {
      exchange::Update update = sum.take();
      // Shard 1 moves every third round.
      Belief& learner = s == 1 && round / 3 % 2 == 1 ? other : one;
      learner.work(s, memory[static_cast<std::size_t>(s)], update);
      sum.give(s, std::move(update));
    }
    outcome = one.absorb(sum.total());
    other.absorb(sum.total());
  }
  Belief alone(p);
  const auto result = test::train_belief(alone, rows);
  EXPECT_EQ(data::sha256(one.state().learned), result.model_sha256);
  EXPECT_EQ(one.progress().best().sweeps, alone.progress().best().sweeps);
}

TEST(BeliefState, GoesOnWhenMoreSweepsAreAllowed) {
  test::RandomGraphs random(12);
  const data::Part rows = test::factor_part(random.grid(4, 2, 1), 2);
  Parameters p;
  p.schedule = Schedule::kSweep;
  p.tol = 1e-9;
  p.max_iter = 4;
  Belief few(p);
  test::Rounds rounds(few, rows);
  Outcome outcome;
  while (!outcome.done()) outcome = rounds.next();
  EXPECT_EQ(outcome.ending, Ending::kRanOut);
  p.max_iter = 500;
  Belief more(p);
  more.restore(test::SavedState(few).file());
  rounds.change(more);
  outcome = {};
  while (!outcome.done()) outcome = rounds.next();
  EXPECT_EQ(outcome.ending, Ending::kConverged);
  Belief afresh(p);
  test::train_belief(afresh, rows);
  for (std::size_t i = 0; i < afresh.marginals().size(); ++i) {
    EXPECT_NEAR(more.marginals()[i], afresh.marginals()[i], 1e-8);
  }
}

TEST(BeliefState, RefusesStatesThatAreNone) {
  const data::Part rows = test::factor_part(test::RandomGraphs(13).tree(6, 2, 2, 1), 2);
  Belief learner(Parameters{});
  test::train_belief(learner, rows);
  const State state = learner.state();
  const auto refused = [&](const auto& change) {
    auto tensors = state.learned;
    for (const auto& [name, tensor] : state.carried) tensors["carried/" + name] = tensor;
    data::Metadata metadata = {{"learner", "belief"},
                               {"parameters", state.parameters.dump()},
                               {"progress", state.progress.dump()}};
    change(tensors, metadata);
    const auto bytes = data::safetensors_bytes(tensors, metadata);
    return input_error_of([&] {
      Belief other(Parameters{});
      other.restore(data::SafetensorsFile(bytes, "state"));
    });
  };
  using Tensors = std::map<std::string, data::Tensor>;
  EXPECT_NE(refused([](Tensors&, data::Metadata& m) { m["learner"] = "kmeans"; }).find("another"),
            std::string::npos);
  EXPECT_NE(refused([](Tensors& t, data::Metadata&) { t.erase("carried/fields"); }).find("length"),
            std::string::npos);
  const std::vector<std::int32_t> orders(6, 77);
  EXPECT_NE(refused([&](Tensors& t, data::Metadata&) {
              t["carried/order"] = data::tensor_of<std::int32_t>(orders, {6});
            }).find("out of range"),
            std::string::npos);
  EXPECT_NE(refused([](Tensors&, data::Metadata& m) {
              m["progress"] = R"({"course":{"step":99}})";
            }).find("'step' is 99"),
            std::string::npos);
}

std::string answer(const BeliefModel& model, const std::string& form) {
  std::string text;
  model.write_answer(form, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(BeliefModel, WritesItsAnswerInThreeForms) {
  data::FactorGraph graph;
  graph.cards = {2, 3};
  graph.add(std::vector{0}, std::vector{0, 1}, std::vector{1.0, 3.0});
  graph.add(std::vector{1}, std::vector{0, 2}, std::vector{1.0, 1.0});
  Belief learner(Parameters{});
  test::train_belief(learner, test::factor_part(graph, 2));
  const test::SavedState saved(learner);
  const BeliefModel model(saved.file());
  EXPECT_EQ(model.answer_forms(), (std::vector<std::string>{"csv", "MAR", "MAP"}));
  EXPECT_EQ(answer(model, "csv"),
            "variable,state,probability\n0,0,0.25\n0,1,0.75\n1,0,0.5\n1,1,0\n1,2,0.5\n");
  EXPECT_EQ(answer(model, "MAR"), "MAR\n2 2 0.25 0.75 3 0.5 0 0.5\n");
  EXPECT_EQ(answer(model, "MAP"), "MAP\n2 1 0\n");
  usage_error_of([&] { answer(model, "json"); });
  const Json about = model.describe();
  EXPECT_EQ(about.at("variables"), 2);
  EXPECT_EQ(about.at("converged"), true);
  EXPECT_NEAR(about.at("log10_z").get<double>(), std::log10(8.0), 1e-9);
}

// The first round has no marginals to show.
TEST(BeliefModel, SaysThatThereAreNoMarginalsYet) {
  const Belief learner(Parameters{});
  const test::SavedState saved(learner);
  EXPECT_NE(input_error_of([&] { BeliefModel model(saved.file()); }).find("no marginals yet"),
            std::string::npos);
}

}  // namespace
}  // namespace meanwhile::learn::belief
