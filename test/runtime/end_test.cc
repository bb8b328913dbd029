// How a job ends: done, failed, cancelled, or given up; and what is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <limits>
#include <mutex>

#include "test/runtime/jobs.h"

namespace meanwhile::runtime {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Opened once.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// A toy whose learners do `on_work` first.
Kind hooked_toy(const job::ToyParameters& parameters,
                std::function<void(std::int64_t, int)> on_work) {
  Kind kind = toy(parameters);
  kind.fresh = [=] {
    auto learner = std::make_unique<job::ToyLearner>(parameters);
    learner->on_work = on_work;
    return learner;
  };
  return kind;
}

TEST(End, OfALearnerThatThrowsIsTheEndForAll) {
  const job::ToyParameters parameters = {.max_iter = 5};
  Job job(toy(parameters), 9);
  job.kind = hooked_toy(parameters, [](std::int64_t round, int shard) {
    if (round == 3 && shard == 4) throw base::Error(base::ErrorKind::kFailed, "no such row");
  });
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  Workers workers(record);
  for (int w = 0; w < 3; ++w) {
    workers.start(place.open(), quick(fmt::format("w{}", w)), job.make());
  }
  workers.join();
  for (int w = 0; w < 3; ++w) {
    const std::string& error = workers[static_cast<std::size_t>(w)].error;
    EXPECT_THAT(error, HasSubstr("toy round 3, shard 4: no such row"));
  }
  const auto opened = place.open();
  base::SystemClock clock;
  EXPECT_EQ(status_of(opened->store, record).state, "failed");
  try {
    result_of(*opened->store.blobs, record, clock);
    FAIL();
  } catch (const base::Error& e) {
    EXPECT_EQ(e.kind(), base::ErrorKind::kFailed);
    EXPECT_THAT(e.what(), HasSubstr("no such row"));
  }
  EXPECT_THROW(work(opened->store, opened->meter, record, job.make(), quick("late")), base::Error);
  cancel(opened->store, record, clock);
  EXPECT_THAT(place.blobs(), IsEmpty());
}

// It throws, or its objective is not finite.
TEST(End, OfAnAbsorbThatFailsIsTheEndForAll) {
  class Diverging final : public learn::FlatLearner {
   public:
    explicit Diverging(bool throws) : throws_(throws) {}
    std::string name() const override { return "toy"; }
    void attach(const learn::Attachment&) override {}
    std::size_t update_size() const override { return 1; }
    void work(int, std::span<double> update) override { update[0] = 1; }
    learn::Outcome absorb(std::span<const double>) override {
      learn::Outcome outcome;
      if (++rounds_ < 2) return outcome;
      if (throws_) throw base::Error(base::ErrorKind::kFailed, "it diverged");
      outcome.objective = std::numeric_limits<double>::infinity();
      return outcome;
    }
    std::int64_t rounds_left() const override { return 5; }
    learn::State state() const override {
      learn::State state;
      state.learned["rounds"] = data::tensor_of<std::int64_t>({&rounds_, 1}, {1});
      return state;
    }
    void restore(const data::SafetensorsFile& file) override {
      rounds_ = file.tensor("rounds").as<std::int64_t>()[0];
    }
    learn::Cost cost(const learn::Shape&) const override { return {}; }

   private:
    const bool throws_;
    std::int64_t rounds_ = 0;
  };
  for (const bool throws : {true, false}) {
    Job job(toy({.max_iter = 1}), 3);
    job.kind.fresh = [=] { return std::make_unique<Diverging>(throws); };
    Place place;
    const JobRecord record = job.submit(place, 1).job;
    Workers workers(record);
    for (const char* id : {"a", "b"}) workers.start(place.open(), quick(id), job.make());
    workers.join();
    const char* reason = throws ? "toy round 2: it diverged" : "toy round 2: the objective is not";
    for (std::size_t w = 0; w < 2; ++w) EXPECT_THAT(workers[w].error, HasSubstr(reason));
    EXPECT_EQ(status_of(place.open()->store, record).state, "failed");
  }
}

TEST(End, FindsAWorkerThatComesAfterIt) {
  const Job job(toy({.max_iter = 2}), 3);
  Place place;
  const JobRecord record = job.submit(place).job;
  for (const char* id : {"first", "late"}) {
    const auto opened = place.open();
    const WorkerResult result = work(opened->store, opened->meter, record, job.make(), quick(id));
    EXPECT_EQ(result.ending, Ending::kDone);
    EXPECT_EQ(result.ended.value("model_sha256", ""), job.expected);
    EXPECT_EQ(result.rounds, 2);
    expect_result(place, job, record);
  }
}

// The job ended, or went, between a worker's finding it and its first look at the states.
TEST(End, FindsAWorkerThatComesInTheMiddleOfIt) {
  for (const bool cancelled : {false, true}) {
    const Job job(toy({.max_iter = 2}), 3);
    Place place;
    const JobRecord record = job.submit(place, 1).job;
    if (!cancelled) {
      const auto opened = place.open();
      work(opened->store, opened->meter, record, job.make(), quick("first"));
    }
    std::atomic<bool> looked = false, removed = false;
    Hooks hooks;
    hooks.hidden = [&](const std::string& name) {
      return name == record.names().result() && !looked;
    };
    hooks.before = [&](const std::string& verb, const std::string& name) {
      if (verb != "list" || name != record.names().states()) return;
      looked = true;
      if (cancelled && !removed.exchange(true)) remove_job(place.open()->store, record, false);
    };
    const auto opened = place.open(hooks);
    WorkerOptions options = quick("late");
    options.timeout_s = 20;
    const WorkerResult result = work(opened->store, opened->meter, record, job.make(), options);
    EXPECT_EQ(result.ending, cancelled ? Ending::kGone : Ending::kDone);
    if (cancelled) {
      EXPECT_THAT(place.blobs(), IsEmpty());
    } else {
      EXPECT_EQ(result.ended.value("model_sha256", ""), job.expected);
      expect_result(place, job, record);
    }
  }
}

// A worker that found the job, and comes to its store when all of it is gone.
TEST(Cancel, IsSeenByAWorkerThatComesAfterIt) {
  const Job job(toy({.max_iter = 2}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  remove_job(place.open()->store, record, false);
  const auto opened = place.open();
  WorkerOptions options = quick("late");
  options.timeout_s = 30;
  const WorkerResult result = work(opened->store, opened->meter, record, job.make(), options);
  EXPECT_EQ(result.ending, Ending::kGone);
  EXPECT_THAT(place.blobs(), IsEmpty());
}

// At whatever call of a worker the job is taken away, all leave and nothing stays.
TEST(Cancel, LeavesNothingWhateverWorkersAreAt) {
  const Job job(toy({.max_iter = 1000}), 9);
  for (int turn = 0; turn < 6; ++turn) {
    SCOPED_TRACE(fmt::format("turn {}", turn));
    Place place;
    const JobRecord record = job.submit(place, 1).job;
    std::atomic<int> calls = 0;
    Gate gate;
    Hooks hooks;
    hooks.before = [&](const std::string&, const std::string&) {
      if (++calls == 40 + 61 * turn) gate.open();
    };
    Workers workers(record);
    for (const char* id : {"a", "b"}) workers.start(place.open(hooks), quick(id), job.make());
    gate.wait();
    if (turn % 3 == 2) {
      // Rudely: without waiting for anybody to leave.
      remove_job(place.open()->store, record, false);
    } else {
      base::SystemClock clock;
      cancel(place.open()->store, record, clock);
    }
    workers.join();
    for (std::size_t w = 0; w < 2; ++w) {
      EXPECT_EQ(workers[w].error, "");
      EXPECT_EQ(workers[w].result.ending, Ending::kGone);
    }
    EXPECT_THAT(place.blobs(), IsEmpty());
    EXPECT_EQ(place.messages(), 0);
  }
}

TEST(Worker, LeavesWhenItIsToldToAlsoBeforeTheJobIsReady) {
  const Job job(toy(), 3);
  Place place;
  const JobRecord record = job.submit(place).job;
  place.open()->store.blobs->remove({{record.names().state(0)}});
  std::atomic<bool> stop = false;
  Hooks hooks;
  std::atomic<int> lists = 0;
  hooks.before = [&](const std::string& verb, const std::string&) {
    if (verb == "list" && ++lists == 5) stop = true;
  };
  const auto opened = place.open(hooks);
  WorkerOptions options = quick("w");
  options.timeout_s = 30;
  options.stop = &stop;
  const WorkerResult result = work(opened->store, opened->meter, record, job.make(), options);
  EXPECT_EQ(result.ending, Ending::kInterrupted);
}

// The room a job takes does not grow with its rounds.
TEST(Job, KeepsAFewRoundsOnly) {
  for (const int shards : {3, 9}) {
    const Job job(toy({.max_iter = 150}), shards);
    Place place;
    const JobRecord record = job.submit(place, 2).job;
    std::size_t most_rounds = 0, most_states = 0;
    const auto look = [&](Workers::One&, const job::RoundEvent& event) {
      if (event.round % 10 != 0) return;
      std::set<std::int64_t> rounds;
      std::size_t states = 0;
      for (const std::string& name : place.blobs()) {
        if (const auto step = step_of(name, record.names())) rounds.insert(*step);
        states += name.starts_with(record.names().states()) ? 1 : 0;
      }
      most_rounds = std::max(most_rounds, rounds.size());
      most_states = std::max(most_states, states);
    };
    Workers workers(record);
    workers.start(place.open(), quick("a"), job.make(), look);
    workers.start(place.open(), quick("b"), job.make());
    workers.join();
    expect_result(place, job, record);
    EXPECT_LT(most_rounds, 100u);
    EXPECT_LE(most_states, 4u);
  }
}

// The rounds in lines of metrics.jsonl.
std::vector<std::int64_t> rounds_in(const std::string& metrics) {
  std::vector<std::int64_t> rounds;
  std::istringstream text(metrics);
  for (std::string line; std::getline(text, line);) {
    const Json json = Json::parse(line);
    if (json.contains("round")) rounds.push_back(json["round"]);
  }
  return rounds;
}

TEST(Metrics, HaveEveryRoundOnceWhoeverHeldTheRoot) {
  const Job job(toy({.max_iter = 40, .seed_steps = 2}), 9);
  std::vector<std::int64_t> expected;
  for (std::int64_t round = 1; round <= 40; ++round) expected.push_back(round);
  for (const int every : {1, 3, 7}) {
    Place place;
    const JobRecord record = job.submit(place, 1).job;
    // Each worker goes after some rounds, and the next begins from a state.
    for (int turn = 0; !place.open()->store.blobs->get(record.names().result()); ++turn) {
      Workers workers(record);
      int absorbed = 0;
      workers.start(place.open(), quick(fmt::format("w{}", turn)), job.make(),
                    [&](Workers::One& one, const job::RoundEvent& event) {
                      if (++absorbed == every + 3) one.stop = !event.outcome.done();
                    });
      workers.join();
      ASSERT_EQ(workers[0].error, "");
      ASSERT_LT(turn, 100);
    }
    expect_result(place, job, record);
    base::SystemClock clock;
    const auto result = result_of(*place.open()->store.blobs, record, clock);
    ASSERT_TRUE(result);
    EXPECT_EQ(rounds_in(result->metrics), expected);
    EXPECT_THAT(result->metrics, HasSubstr("\"phase\":\"score\""));
    EXPECT_THAT(result->metrics, HasSubstr("\"phase\":\"prepare\",\"steps\":2,"));
  }
}

TEST(Bill, CountsTheRequestsOfAllWorkersAlsoOfThoseThatWent) {
  const Job job(toy({.max_iter = 20}), 9);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  std::int64_t seen = 0;
  {
    Workers workers(record);
    int absorbed = 0;
    workers.start(place.open(), quick("went"), job.make(),
                  [&](Workers::One& one, const job::RoundEvent&) {
                    if (++absorbed == 5) one.stop = true;
                  });
    workers.join();
    seen += workers[0].opened->meter.usage().total();
  }
  // No worker lives, and the status still knows the rounds: five steps, of which two prepare.
  const Status status = status_of(place.open()->store, record);
  EXPECT_EQ(status.state, "waiting");
  EXPECT_GE(status.rounds, 2);
  Workers workers(record);
  for (const char* id : {"a", "b"}) workers.start(place.open(), quick(id), job.make());
  workers.join();
  for (std::size_t w = 0; w < 2; ++w) seen += workers[w].opened->meter.usage().total();
  const Json told = bill(*place.open()->store.blobs, record, {});
  EXPECT_EQ(told["workers"], 3);
  const auto total = told["requests_total"].get<std::int64_t>();
  // All but what a worker does after its last report: it removes its heartbeat, and tidies up.
  EXPECT_LE(total, seen);
  EXPECT_GT(total, seen - 1000);
  EXPECT_GE(told["requests"]["put"].get<std::int64_t>(), 9 * 24);
  EXPECT_GT(told["bytes_sent"].get<std::int64_t>(), 0);
  EXPECT_GT(told["price"].get<double>(), 0);
}

}  // namespace
}  // namespace meanwhile::runtime
