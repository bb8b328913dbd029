#include "meanwhile/learn/lagged.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "meanwhile/job/run_directory.h"
#include "test/expect_error.h"

namespace meanwhile::learn {
namespace {

// A model that is one number. A round adds `number + 1` thousands and what the model was when the
// round was worked on, so that the model tells which one each round read.
class Tiny final : public FlatLearner {
 public:
  std::int64_t rounds = 0, max_iter = 8;
  std::int64_t prepare = 1;         // rounds of preparing, which allow no lag
  std::int64_t restarts_after = 0;  // this round goes back to the first model; 0: none
  double model = 1;
  int ahead = 0;
  struct Read {
    std::int64_t round;
    double model;
  };
  std::vector<Read> reads;

  std::string name() const override { return "tiny"; }
  void attach(const Attachment&) override {}
  std::size_t update_size() const override { return 2; }
  void work(int, std::span<double> update) override {
    reads.push_back({rounds + ahead, model});
    update[0] = 1000 * static_cast<double>(rounds + ahead + 1) + model;
    update[1] = 1;
  }
  Outcome absorb(std::span<const double> total) override {
    EXPECT_EQ(ahead, 0);
    Outcome outcome;
    if (prepare > 0) {
      --prepare;
      outcome.phase = Phase::kPrepare;
      return outcome;
    }
    if (rounds == max_iter) {
      outcome.phase = Phase::kScore;
      outcome.ending = Ending::kRanOut;
      return outcome;
    }
    ++rounds;
    model += total[0];
    outcome.objective = model;
    if (rounds == restarts_after) {
      restarts_after = 0;
      model = 1;
      outcome.restarted = true;
    }
    return outcome;
  }
  int max_lag() const override { return prepare == 0 && rounds < max_iter ? kAnyLag : 0; }
  void set_ahead(int number) override { ahead = number; }
  std::int64_t rounds_left() const override { return max_iter - rounds; }
  State state() const override {
    State state;
    state.learned["model"] = data::tensor_of<double>(std::span(&model, 1), {1});
    state.progress = {{"rounds", rounds}, {"prepare", prepare}, {"restarts", restarts_after}};
    return state;
  }
  void restore(const data::SafetensorsFile& file) override {
    model = file.tensor("model").as<double>()[0];
    const auto progress = base::parse_json(file.metadata().at("progress"), "progress");
    rounds = progress["rounds"];
    prepare = progress["prepare"];
    restarts_after = progress["restarts"];
  }
  Cost cost(const Shape&) const override { return {}; }
};

struct Rounds {
  std::vector<double> objectives;  // of rounds of training, as they were absorbed
  std::vector<Tiny::Read> reads;
  double model = 0;
};

exchange::Update worked(RoundLearner& learner) {
  exchange::Update update(learner.update_shape());
  ShardMemory none;
  learner.work(0, none, update);
  return update;
}

// Runs to the end. `overlaps`: rounds are worked on before the total of the one before is absorbed.
// `resumes`: after every round the learner is made anew from its state.
Rounds run(int lag, bool overlaps, bool resumes, std::int64_t restarts_after = 0,
           std::int64_t max_iter = 8) {
  auto inner = std::make_unique<Tiny>();
  inner->restarts_after = restarts_after;
  inner->max_iter = max_iter;
  Tiny* tiny = inner.get();
  std::unique_ptr<RoundLearner> learner = with_lag(std::move(inner), lag);
  learner->attach({});
  Rounds rounds;
  std::optional<exchange::Update> next;
  for (int guard = 0; guard < 100; ++guard) {
    const exchange::Update total = next ? *std::move(next) : worked(*learner);
    next.reset();
    if (overlaps && learner->run_ahead()) next = worked(*learner);
    const Outcome outcome = learner->absorb(total);
    if (outcome.phase == Phase::kTrain) rounds.objectives.push_back(outcome.objective);
    if (outcome.done()) break;
    if (!resumes) continue;
    const State state = learner->state();
    const job::StateFile file = job::state_file(state, tiny->rounds, "");
    const auto bytes = data::safetensors_bytes(file.tensors, file.metadata);
    const data::SafetensorsFile read(bytes, "state");
    auto again = std::make_unique<Tiny>();
    again->max_iter = max_iter;
    again->restore(read);
    again->reads = tiny->reads;
    if (next) again->reads.pop_back();  // worked on again
    next.reset();
    tiny = again.get();
    learner = with_lag(std::move(again), lag, &read);
    learner->attach({});
  }
  rounds.reads = tiny->reads;
  rounds.model = tiny->model;
  return rounds;
}

// The same by hand: a list of models.
double reference(int lag, std::int64_t max_iter) {
  std::vector<double> models = {1};
  for (std::int64_t t = 0; t < max_iter; ++t) {
    const double read = models[static_cast<std::size_t>(std::max<std::int64_t>(0, t - lag))];
    models.push_back(models.back() + 1000 * static_cast<double>(t + 1) + read);
  }
  return models.back();
}

TEST(Lagged, ReadsTheModelOfSoManyRoundsAgoAndAbsorbsEveryRound) {
  for (const int lag : {0, 1, 2, 3, 20}) {
    for (const std::int64_t max_iter : {1, 2, 3, 8}) {
      const Rounds rounds = run(lag, false, false, 0, max_iter);
      EXPECT_EQ(rounds.model, reference(lag, max_iter)) << lag << ", " << max_iter << " rounds";
      EXPECT_EQ(std::ssize(rounds.objectives), max_iter);
    }
  }
}

TEST(Lagged, GivesTheSameModelWhetherRoundsOverlapOrNotAndThroughEveryResume) {
  for (const int lag : {1, 2, 3}) {
    const Rounds plain = run(lag, false, false);
    for (const auto& [overlaps, resumes] : {std::pair{true, false}, {false, true}, {true, true}}) {
      const Rounds other = run(lag, overlaps, resumes);
      EXPECT_EQ(other.model, plain.model) << lag << overlaps << resumes;
      EXPECT_EQ(other.objectives, plain.objectives);
    }
  }
}

// Preparing and the score are rounds 0 and 8 to their learner: every one of the others once.
TEST(Lagged, WorksOnEveryRoundOnce) {
  for (const bool overlaps : {false, true}) {
    const Rounds rounds = run(1, overlaps, false);
    ASSERT_EQ(rounds.reads.size(), 10u);
    EXPECT_EQ(rounds.reads[0].round, 0);
    for (std::size_t i = 1; i < 9; ++i) {
      EXPECT_EQ(rounds.reads[i].round, static_cast<std::int64_t>(i) - 1);
    }
    EXPECT_EQ(rounds.reads[9].model, rounds.model) << "the score reads the model whole";
  }
}

// The round after the one that restarted was worked on from a model that is gone: it is done again.
TEST(Lagged, DropsRoundsThatBeganBeforeARestart) {
  const Rounds plain = run(1, false, false, 3);
  const Rounds overlapped = run(1, true, false, 3), resumed = run(1, true, true, 3);
  EXPECT_EQ(plain.model, overlapped.model);
  EXPECT_EQ(plain.model, resumed.model);
  int times = 0;
  for (const Tiny::Read& read : plain.reads) times += read.round == 3;
  EXPECT_EQ(times, 2);
  EXPECT_EQ(plain.objectives.size(), 8u);
}

TEST(Lagged, ARunThatIsResumedWithoutLagAbsorbsWhatWaits) {
  auto inner = std::make_unique<Tiny>();
  const auto learner = with_lag(std::move(inner), 2);
  learner->attach({});
  for (int i = 0; i < 4; ++i) learner->absorb(worked(*learner));
  const State state = learner->state();
  const job::StateFile file = job::state_file(state, 1, "");
  const auto bytes = data::safetensors_bytes(file.tensors, file.metadata);
  const data::SafetensorsFile read(bytes, "state");
  auto again = std::make_unique<Tiny>();
  again->restore(read);
  Tiny* const tiny = again.get();
  const auto resumed = with_lag(std::move(again), 0, &read);
  resumed->attach({});
  for (int guard = 0; guard < 20; ++guard) {
    if (resumed->absorb(worked(*resumed)).done()) break;
  }
  EXPECT_EQ(tiny->rounds, 8);
  // Rounds 0, 1 and 2 read the first model; those after have all.
  double model = 1 + 1001 + 2001 + 3001;
  for (int t = 3; t < 8; ++t) model += 1000 * (t + 1) + model;
  EXPECT_EQ(tiny->model, model);
}

TEST(Lagged, RefusesAStateThatLacksATotal) {
  const auto learner = with_lag(std::make_unique<Tiny>(), 1);
  learner->attach({});
  for (int i = 0; i < 3; ++i) learner->absorb(worked(*learner));
  const State state = learner->state();
  job::StateFile file = job::state_file(state, 1, "");
  std::erase_if(file.tensors,
                [](const auto& tensor) { return tensor.first.starts_with("carried/waiting"); });
  const auto bytes = data::safetensors_bytes(file.tensors, file.metadata);
  const data::SafetensorsFile read(bytes, "state");
  EXPECT_THAT(input_error_of([&] { with_lag(std::make_unique<Tiny>(), 1, &read); }),
              testing::HasSubstr("lacks the total"));
}

}  // namespace
}  // namespace meanwhile::learn
