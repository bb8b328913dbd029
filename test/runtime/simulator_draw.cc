// Draws a job and the faults of a run from a seed.
#include <algorithm>
#include <array>
#include <cmath>

#include "test/runtime/simulator.h"

namespace meanwhile::runtime {

namespace {

// Where faults may gather: an operation, or part of a name.
constexpr std::array kFavoured = {"",       "",        "",       "/rounds/", "/sums/",
                                  "/total", "/state/", "/live/", "/memory/", "metrics",
                                  "/model", "result",  "lease",  "renew",    "push",
                                  "remove", "queue",   "list",   "/usage/",  "put-if-absent"};

// In the order of Simulator::Learner.
constexpr std::array kLearners = {"toy", "k-means", "memory", "tables", "tables and memory"};

// A share between `low` and `high`, as often of each size; 0 in about half of the runs.
double share(SimRandom& random, double low, double high) {
  const double drawn = low * std::pow(high / low, random.uniform());
  return random.chance(0.5) ? drawn : 0;
}

FaultModel draw_faults(SimRandom& random) {
  FaultModel faults;
  faults.kill = share(random, 2e-4, 1e-2);
  faults.kill_all = random.chance(0.2) ? share(random, 1e-4, 1e-3) : 0;
  faults.stop = share(random, 2e-4, 1e-2);
  faults.stop_s = random.between(0.1, 12);
  faults.leave = share(random, 1e-4, 5e-3);
  faults.fail = random.chance(0.5) ? share(random, 1e-4, 2e-3) : 0;
  faults.again = share(random, 1e-3, 3e-2);
  faults.slow = share(random, 1e-3, 3e-2);
  faults.slow_s = random.between(0.05, 5);
  faults.late = random.chance(0.5) ? share(random, 1e-3, 0.3) : 0;
  faults.late_s = random.between(0.01, 0.5);
  faults.cut = random.chance(0.5) ? share(random, 1e-3, 0.1) : 0;
  faults.damage = random.chance(0.5) ? share(random, 1e-3, 0.1) : 0;
  faults.twice = share(random, 1e-2, 0.3);
  faults.lost = random.chance(0.4) ? share(random, 1e-2, 0.5) : 0;
  faults.undead = random.chance(0.5) ? share(random, 1e-2, 0.3) : 0;
  faults.drift = random.chance(0.5) ? random.between(0, 0.02) : 0;
  faults.favoured = kFavoured[random.next() % kFavoured.size()];
  if (random.chance(0.3)) {
    faults.freeze = kFavoured[random.next() % kFavoured.size()];
    faults.freeze_s = random.between(1, 60);
  }
  faults.most_departures = random.among(1, 20);
  faults.until_s = random.between(1, 60);
  return faults;
}

}  // namespace

Simulator::Drawn Simulator::draw(std::uint64_t seed) {
  SimRandom random(~seed);
  Drawn drawn;
  const int kind = random.among(0, 19);
  drawn.learner = kind < 2 ? Learner::kKMeans : kind < 6 ? Learner::kMemory : Learner::kToy;
  drawn.shards = random.chance(0.5) ? random.among(1, 6) : random.among(1, 20);
  drawn.max_iter = random.among(1, 5);
  if (drawn.learner == Learner::kMemory) drawn.max_iter *= 3;
  SimPlan& plan = drawn.plan;
  plan.seed = seed;
  plan.workers = random.among(1, 5);
  plan.faults = draw_faults(random);
  // Memory is replayed from totals: those of a job with memory are not made again.
  plan.faults.damage_totals = drawn.learner != Learner::kMemory;
  plan.lease_s = random.between(1, 4);
  plan.memory_every = std::array<std::int64_t, 4>{1, 2, 3, 8}[random.next() % 4];
  plan.work_s = random.chance(0.5) ? 0.01 : random.between(0.001, 0.2);
  plan.slow_workers = 0.2;
  plan.polls_per_s = std::array{2.0, 20.0, 1000.0}[random.next() % 3];
  plan.join_s = random.chance(0.5) ? 0 : random.between(0, 5);
  plan.late_joins = random.chance(0.2) ? random.among(1, 2) : 0;
  // From numbers of their own: all else of a seed stays as it was.
  SimRandom more(~seed ^ 0x5157);
  if (drawn.learner == Learner::kToy && more.chance(0.4)) {
    drawn.staleness = more.chance(0.7) ? 1 : more.among(2, 3);
    drawn.max_iter *= 3;
    drawn.restarts_after = more.chance(0.3) ? more.among(1, drawn.max_iter - 1) : 0;
    drawn.ends_after = more.chance(0.3) ? more.among(1, drawn.max_iter - 1) : 0;
  }
  // Learners with tables, in the same way.
  if (SimRandom tables(~seed ^ 0x6162); drawn.staleness == 0 && tables.chance(0.25)) {
    if (drawn.learner == Learner::kToy) drawn.learner = Learner::kTables;
    if (drawn.learner == Learner::kMemory) drawn.learner = Learner::kTablesAndMemory;
  }
  return drawn;
}

const SimJob& Simulator::job_of(const Drawn& drawn) {
  auto& job = jobs_[{drawn.learner, drawn.shards, drawn.max_iter, drawn.staleness,
                     drawn.restarts_after, drawn.ends_after}];
  if (job == nullptr) {
    const bool remembers = drawn.learner == Learner::kTablesAndMemory;
    Job made =
        drawn.learner == Learner::kMemory ? memory_job(drawn.max_iter, drawn.shards)
        : remembers || drawn.learner == Learner::kTables
            ? Job(word_tables({.max_iter = drawn.max_iter,
                               .words = 90,
                               .width = 5,
                               .remembers = remembers}),
                  drawn.shards)
        : drawn.learner == Learner::kKMeans
            ? Job(kmeans("kmeans", {{"n_clusters", 3}, {"max_iter", drawn.max_iter}}), drawn.shards)
            : Job(stale(toy({.max_iter = drawn.max_iter,
                             .lags = true,
                             .restarts_after = drawn.restarts_after,
                             .ends_after = drawn.ends_after}),
                        drawn.staleness),
                  drawn.shards);
    job = std::make_unique<SimJob>(std::move(made));
  }
  return *job;
}

std::string Simulator::describe(std::uint64_t seed) {
  const Drawn drawn = draw(seed);
  const FaultModel& faults = drawn.plan.faults;
  return fmt::format(
      "{} of {} shards, {} iterations, staleness {}, restart {}, end {}, {} workers, lease {:.1f} "
      "s; kill {:.5f} of operations, all "
      "{:.5f}, stop {:.5f} for {:.1f} s, leave {:.5f}, fail {:.5f}, again {:.5f}, slow {:.5f}, "
      "late "
      "{:.5f}, cut {:.5f}, damage {:.5f}, twice {:.2f}, lost {:.2f}, undead {:.2f}, until {:.1f} "
      "s, "
      "most at '{}', frozen at '{}'",
      kLearners[static_cast<std::size_t>(drawn.learner)], drawn.shards, drawn.max_iter,
      drawn.staleness, drawn.restarts_after, drawn.ends_after, drawn.plan.workers,
      drawn.plan.lease_s, faults.kill, faults.kill_all, faults.stop, faults.stop_s, faults.leave,
      faults.fail, faults.again, faults.slow, faults.late, faults.cut, faults.damage, faults.twice,
      faults.lost, faults.undead, faults.until_s, faults.favoured, faults.freeze);
}

}  // namespace meanwhile::runtime
