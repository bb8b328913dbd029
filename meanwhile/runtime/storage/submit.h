// The setup service: puts a job at a store, shard by shard, in parallel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "meanwhile/data/part.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

struct Submission {
  const data::Part& part;            // all rows are here
  const data::Part* eval = nullptr;  // held-out rows, dealt to as many shards
  learn::RoundLearner& learner;      // not attached; in the state to begin from
  Json parameters = Json::object();
  std::uint64_t seed = 0;
  int staleness = 0;   // that the learner was made with
  bool fresh = false;  // reads see what has arrived
  // The record of reads that it repeats, or goes on from if it is fresh; empty: none.
  std::vector<std::byte> reads = {};
  std::int64_t rounds_done = 0;  // behind that state
  // The file of that state, beside which the memory of shards lies. Empty: a new run.
  std::filesystem::path resumed_from = {};
  double lease_s = 30;
  std::int64_t memory_every = kMemoryEvery;
  Json about = Json::object();
  int threads = 1;
};

enum class Found {
  kNothing,   // the job is new
  kUnready,   // it was being submitted, and that is finished now
  kRunning,   // it is there, and goes on
  kFinished,  // it is there, with its result
};

struct Submitted {
  JobRecord job;
  Found found = Found::kNothing;
};

// Submits a job, or finds it there: the same job may be submitted any number of times, also after
// the first time was interrupted. Nothing is visible to workers before all of it is there.
// THROWS Error(kUsage) when another job is at the store; what learner.attach(), first_memory(),
// probe() and the store throw. `progress`, if set, is told how many shards are there, on any
// thread.
Submitted submit(storage::Store& store, const Submission& submission,
                 const std::function<void(int)>& progress = {});

}  // namespace meanwhile::runtime
