// Whole jobs on one thread, with a simulated clock: the code of the real workers, deterministic.
#include "test/runtime/simulated.h"

#include <gtest/gtest.h>

namespace meanwhile::runtime {
namespace {

constexpr double kWorkSeconds = 0.05;  // on a shard

struct Simulation {
  std::string model;
  std::vector<std::string> trace;
  std::int64_t deaths = 0, speculated = 0;
  double seconds = 0;
};

// `slots` workers at a time. Each but the last ones dies after a number of calls drawn from the
// seed, and a new one comes a while later.
Simulation simulate(const Job& job, const job::ToyParameters& parameters, unsigned seed, int slots,
                    int deaths) {
  SimWorld world(seed);
  std::mt19937 draw(seed + 1000);
  storage::Meter meter;
  SimLink link{world.store, std::numeric_limits<std::int64_t>::max(), meter};
  OpenPlace place;
  place.store.blobs = std::make_unique<SimBlobs>(link);
  place.store.queue = std::make_unique<SimQueue>(link);
  const JobRecord record = job.submit(place, 2).job;
  const MakeLearner make = [&](const data::SafetensorsFile& state) {
    auto learner = std::make_unique<job::ToyLearner>(parameters);
    learner->restore(state);
    learner->on_work = [&](std::int64_t, int) { world.store.now_s += kWorkSeconds; };
    return learner;
  };
  Simulation run;
  int started = 0;
  const auto start = [&] {
    const bool mortal = started < deaths;
    world.start(record, fmt::format("w{}", started++), make,
                mortal ? 10 + static_cast<std::int64_t>(draw() % 400)
                       : std::numeric_limits<std::int64_t>::max());
  };
  for (int slot = 0; slot < slots; ++slot) start();
  std::set<std::size_t> buried;
  for (std::int64_t steps = 0; world.step(); ++steps) {
    if (steps > 1'000'000) {
      ADD_FAILURE() << "the job does not end";
      break;
    }
    for (std::size_t w = 0; w < world.workers.size(); ++w) {
      if (!world.workers[w]->is_dead() || !buried.insert(w).second) continue;
      ++run.deaths;
      start();
    }
  }
  for (const auto& worker : world.workers) {
    if (worker->is_dead()) continue;
    const WorkerResult result = worker->machine->take_result();
    EXPECT_EQ(result.ending, Ending::kDone);
    run.speculated += result.speculated;
  }
  SimClock clock(world.store);
  const auto result = result_of(*place.store.blobs, record, clock);
  if (result) run.model = result->ended.value("model_sha256", "");
  // The worker that wrote the result may have died before it had tidied up; the next to come does.
  tidy_up(place.store, record);
  for (const auto& [name, item] : world.store.blobs) {
    const Names names = record.names();
    EXPECT_TRUE(name == Names::job() || name == names.result() || name == names.model() ||
                name == names.metrics() || name.starts_with(names.usages()))
        << name << " is left behind";
  }
  run.trace = std::move(world.trace);
  run.seconds = world.store.now_s;
  return run;
}

TEST(Simulated, WorkersGiveTheBitsOfThreads) {
  const job::ToyParameters parameters = {.max_iter = 6};
  for (const int shards : {1, 3, 9, 20}) {
    const Job job(toy(parameters), shards);
    for (const int workers : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} shards, {} workers", shards, workers));
      EXPECT_EQ(simulate(job, parameters, 1, workers, 0).model, job.expected);
    }
  }
}

TEST(Simulated, WorkersThatDieAtAnyCallChangeNoBit) {
  const job::ToyParameters parameters = {.max_iter = 8};
  const Job job(toy(parameters), 9);
  std::int64_t deaths = 0;
  for (unsigned seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Simulation run = simulate(job, parameters, seed, 3, 5);
    EXPECT_EQ(run.model, job.expected);
    deaths += run.deaths;
  }
  EXPECT_GT(deaths, 50);
}

TEST(Simulated, TheSameSeedGivesTheSameTrace) {
  const job::ToyParameters parameters = {.max_iter = 5};
  const Job job(toy(parameters), 9);
  const Simulation first = simulate(job, parameters, 7, 3, 2),
                   again = simulate(job, parameters, 7, 3, 2),
                   other = simulate(job, parameters, 8, 3, 2);
  EXPECT_GT(first.trace.size(), 100u);
  EXPECT_EQ(first.trace, again.trace);
  EXPECT_NE(first.trace, other.trace);
}

// The steps are short: all waiting is for leases of the dead to end, not for a real clock.
TEST(Simulated, ADeathCostsAboutALease) {
  const job::ToyParameters parameters = {.max_iter = 5};
  const Job job(toy(parameters), 9);
  const double quiet_s = simulate(job, parameters, 3, 3, 0).seconds;
  const double hit_s = simulate(job, parameters, 3, 3, 1).seconds;
  EXPECT_LT(hit_s, quiet_s + 3 * 2 + 5);
}

}  // namespace
}  // namespace meanwhile::runtime
