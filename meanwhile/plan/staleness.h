// Costs and gains of staleness, before anything runs: the bounds of theory, and a recursion over
// clocks that says how long a clock takes and how stale its reads are.
//
//   const plan::ClockTimes times = plan::simulate_clocks(
//       {.workers = 8, .staleness = 4, .work_s = 1, .exchange_s = 0.5,
//        .stragglers = {.share = 0.05, .slowdown = 5, .rounds = 5}});
//   times.clock_s;         // seconds
//   times.mean_staleness;  // clocks of another worker that a read lacks
//
// The rule itself is tables/reads.h: 0 is rounds, 1 is fixed reads, 2 and more are fresh reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::plan {

// Mean and variance of staleness. histogram[d]: reads that lack d clocks of a source.
struct Spread {
  double mean = 0, variance = 0;
};
Spread spread_of(std::span<const std::int64_t> histogram);

// A convex problem, as the bounds below need it. The bounds are quoted from notes; their constants
// were not checked against the printed papers.
struct Convex {
  double F = 1;  // half of the squared distance between any two models is at most F^2
  double L = 1;  // no gradient of a component is longer
};

// Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server"
// (NIPS 2013), theorem 1. With steps eta_t = sigma / sqrt(t),
//
//   sigma = F / (L sqrt(2 (s + 1) P)),     R[X] / T <= 4 F L sqrt(2 (s + 1) P / T)
//
// for staleness s, P workers and T updates of all workers together.
double ssp_step(const Convex& problem, int staleness, int workers);
double ssp_regret(const Convex& problem, int staleness, int workers, double updates);

// Dai et al., "High-performance distributed ML at scale through parameter server consistency
// models" (AAAI 2015). With steps eta / sqrt(t), and mean mu and variance sigma of staleness as
// observed,
//
//   Pr[R[X] / T - (eta L^2 + F^2 / eta + 2 eta L^2 mu) / sqrt(T) >= tau]
//     <= exp(-T tau^2 / (2 etabar sigma + (2/3) eta L^2 (2 s + 1) P tau)),
//   etabar = eta^2 L^4 (ln T + 1) / T.
//
// essp_regret() is what is taken off R[X] / T there, essp_tail() the right hand side. Unlike
// ssp_regret(), both depend on what was observed: a large bound that no read comes near costs
// little.
double essp_regret(const Convex& problem, double eta, double mean_staleness, double updates);
double essp_tail(const Convex& problem, double eta, int staleness, int workers, double variance,
                 double updates, double tau);

// Workers that are slow now and then. Slowness belongs to time: a worker that waits through a slow
// period has lost nothing.
struct Stragglers {
  double share = 0;     // of the time that each worker is slow
  double slowdown = 5;  // times as long a slow worker works
  double rounds = 5;    // a worker stays slow, or not, for so many clocks of work
  bool one = false;     // instead: the last worker is slow all the time, the others never

  bool any() const { return (one || share > 0) && slowdown > 1; }
};

// Which worker may work on a shard beside its owner.
enum class Stealing {
  kNone,
  kNeighbour,  // the next worker, which holds the rows, too: `--replicas 2`
  kAny
};

struct ClockedJob {
  int workers = 1;
  int staleness = 0;
  // Seconds of a clock: of the worker with most shards when it is not slow, of a sum over all
  // workers with nothing beside it, and of what a worker does between reading and working.
  double work_s = 0, exchange_s = 0, absorb_s = 0;
  Stragglers stragglers = {};
  Stealing stealing = Stealing::kNone;
  int shards = 0;      // 0: as many as workers
  double fetch_s = 0;  // for the rows of a shard that a worker steals for the first time
  int clocks = 400;
  std::uint64_t seed = 1;
};

struct ClockTimes {
  double clock_s = 0;
  double mean_staleness = 0;
  // histogram[d]: pairs of a read and another worker of which it lacks d clocks. What a worker
  // sees of itself is not counted. Empty for one worker.
  std::vector<std::int64_t> histogram;
};

// The same arguments give the same result. Time is O(clocks * workers * log(workers)) without
// stealing, O(clocks * shards * workers) with it.
// REQUIRES: at least one worker and clock, seconds and staleness not below 0, a share in [0, 1], a
// slowdown and rounds of at least 1; no stealing from a staleness of 2 on, where a clock is a
// worker's own.
ClockTimes simulate_clocks(const ClockedJob& job);

}  // namespace meanwhile::plan
