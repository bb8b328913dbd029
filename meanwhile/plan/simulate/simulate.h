// A job on thousands of workers when faults happen: predict() with faults, event by event.
//
//   const plan::Simulated run =
//       plan::simulate(machine, job, setting, 1000, {.stragglers = 0.01}, 1);
//   run.ratio;  // how many times as long as predict() says
//
// The seconds of every piece are those of predict.h; the simulation decides only when each begins,
// and how much longer it takes. Without faults the two agree.
#pragma once

#include <cstdint>
#include <vector>

#include "meanwhile/plan/predict.h"

namespace meanwhile::plan {

struct FaultModel {
  double jitter = 0.02;      // of the logarithm of the time of a piece of work: its deviation
  double stragglers = 0;     // chance that a worker is slow in a round
  double slowdown = 5;       // times as long a slow worker takes
  double slow_links = 0;     // of the workers: fraction whose link is slow, all the time
  double link_slowdown = 4;  // times as long a byte takes there
  double deaths = 0;         // of a worker in an hour
  double restart_s = 60;     // from a death to another worker that does what the dead one did
  double late_blobs = 0;     // chance that a blob is seen late
  double lateness_s = 1;     // how late
};

struct Simulated {
  int workers = 1, processes = 1;
  std::vector<double> rounds;  // seconds of each round of training, repeated work included
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;

  double seconds = 0;                                   // load and training, as in Point
  double seed = 0, score = 0;                           // beside them
  double load = 0, work = 0, exchange = 0, absorb = 0;  // parts of `seconds`
  double waiting = 0;                                   // for the slowest
  double recovery = 0;                                  // after deaths
  double total_price = 0;                               // of seeding and scoring, too
  double requests = 0;                                  // the same
  std::int64_t deaths = 0;
  std::int64_t speculated = 0;  // updates made in the place of a late worker

  Point predicted;   // without trouble
  double ratio = 1;  // of seconds
};

// The same arguments give the same result. What happens to a worker in a round depends on seed,
// worker and round alone: two simulations of one seed differ only in what was changed.
//
// Threads and ranks: the sum begins when the last one is there. A death ends all of them; after
// restart_s they load again and go on from the last checkpoint, at most some seconds of rounds old.
// Storage: updates, the sums of groups and the total are written, seen and read one by one. Who
// waits makes updates that are late by the rule of runtime/storage/worker.cc, and the first copy
// wins. What a dead worker was to add waits for restart_s.
//
// THROWS Error(kUsage) when trouble is impossible (a chance beyond 1), Error(kFailed) when workers
// die faster than rounds are done; what predict() throws.
Simulated simulate(const Machine& machine, const Job& job, const Setting& setting, int workers,
                   const FaultModel& faults, std::uint64_t seed);

}  // namespace meanwhile::plan
