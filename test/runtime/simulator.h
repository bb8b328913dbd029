// A job and its workers on a seed: which job, how many workers, and which faults befall them. The
// job must end with the model of threads, in bounded time, with nothing left at the store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "test/runtime/jobs.h"
#include "test/runtime/sim_world.h"

namespace meanwhile::runtime {

// A job that was submitted, and what its store looked like then. Runs begin with a copy.
class SimJob {
 public:
  explicit SimJob(Job job);

  const Job job;
  JobRecord record;
  SimStore store;
};

// A learner with shard memory, and what all rounds give on one thread.
Job memory_job(std::int64_t max_iter, int shards);

// Faults planned for a run.
struct SimPlan {
  std::uint64_t seed = 0;
  int workers = 1;
  FaultModel faults = {};
  double lease_s = 2;
  std::int64_t memory_every = 8;
  double work_s = 0.05;                   // on a shard
  std::vector<double> work_factors = {};  // how slow the first workers are
  double slow_workers = 0;  // share of workers whose machine is up to twenty times as slow
  double polls_per_s = 1000;
  std::int64_t memory_limit_bytes = 0;  // of a worker; 0: that of the machine
  double join_s = 0;   // workers come within this time, and so do those in place of others
  int late_joins = 0;  // workers that come when the job has ended
  // The first `deaths` workers die after `calls` operations; 0: a number drawn from the seed.
  int deaths = 0;
  std::int64_t calls = 0;
};

struct Simulation {
  std::string model;
  std::vector<std::string> memory;  // that goes with it
  std::vector<std::string> trace;
  std::vector<std::string> findings;  // whatever must not be; empty when all is well
  FaultCounts counts;
  std::int64_t speculated = 0;
  double seconds = 0;
};

Simulation simulate(const SimJob& job, const SimPlan& plan, bool trace = false);

// Draws job and plan from the seed. Jobs are kept for the seeds to come.
class Simulator {
 public:
  Simulation run(std::uint64_t seed, bool trace = false);
  // Describes the plan of a seed, in a line.
  std::string describe(std::uint64_t seed);

 private:
  enum class Learner { kToy, kKMeans, kMemory, kTables, kTablesAndMemory };
  struct Drawn {
    Learner learner = Learner::kToy;
    int shards = 1, max_iter = 1;
    // The toy's rounds: some read an older model, one goes back to the first, one is the last.
    int staleness = 0, restarts_after = 0, ends_after = 0;
    SimPlan plan;
  };
  static Drawn draw(std::uint64_t seed);
  const SimJob& job_of(const Drawn& drawn);

  std::map<std::tuple<Learner, int, int, int, int, int>, std::unique_ptr<SimJob>> jobs_;
};

}  // namespace meanwhile::runtime
