// How long a job will take and what it will cost, from the shape of its data and a machine's
// profile. Learners state what a round costs, exchanges and stores what a sum costs; here they are
// only added up.
//
//   seconds = load + rounds * (work + exchange + absorb)
//
// of the rounds of training, as the papers count them. Seeding before and scoring after are told
// apart.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "meanwhile/job/runtime.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/plan/machine.h"
#include "meanwhile/runtime/storage/cost.h"

namespace meanwhile::plan {

using job::Medium;

// The job to be planned.
struct Job {
  std::string learner;
  learn::Shape shape;
  std::vector<learn::Stretch> course;
  double load_bytes = 0;  // of the data at rest; 0: as the machine's storage keeps values
  // learn::Learner::memory_bytes(); empty: not known.
  std::function<double(const learn::Shape&, const learn::Division&)> memory = {};
};

// How it is to be done.
struct Setting {
  Medium medium = Medium::kMemory;
  job::Exchange exchange = job::Exchange::kAllreduce;
  int shards = 0;  // 0: as many as workers
  // Where a worker is a process, and the machine's profile one of threads:
  int threads = 1;   // of each worker
  int together = 1;  // workers on one computer
};

// Predicted times of one round.
struct Round {
  double work = 0, exchange = 0, absorb = 0;  // seconds
  double bytes = 0;                           // sent by the busiest worker; to a store: by all
  double requests = 0;                        // to a store
  double seconds() const { return work + exchange + absorb; }
};

struct Point {
  int workers = 1;
  int processes = 1;       // workers, and machines that do nothing but add
  double seconds = 0;      // load and training
  double speedup = 1;      // over one worker that has the data and exchanges nothing
  double efficiency = 1;   // speedup for each process
  double price = 0;        // of `seconds`
  double total_price = 0;  // of seeding and scoring, too
  double requests = 0, bytes = 0;
  double memory_bytes = 0;  // of the largest process at its peak; 0: not known
  double load = 0, work = 0, exchange = 0, absorb = 0;  // parts of `seconds`
  double seed = 0, score = 0;                           // seconds beside them
  Round round;                                          // of training
  job::Exchange by = job::Exchange::kAllreduce;         // of several ranks
};

// As Rate has it.
inline double width_of(const learn::Shape& shape) {
  return shape.sparse ? static_cast<double>(shape.cols) : 1;
}

// The pieces, for who simulates. All in seconds.
// Seconds of a worker on `share` of a round's work, when so many workers are at it.
double work_seconds(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                    const Setting& setting, int workers, double share);
// The largest share of any worker: shards are not cut.
double largest_share(const Setting& setting, int workers);
double absorb_seconds(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                      const Setting& setting, int workers);
// REQUIRES: machine.network.
double exchange_seconds(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                        const Setting& setting, int workers);
// REQUIRES: machine.storage. `bytes`: of a blob. Without leg.waits.
double leg_seconds(const Storage& storage, const runtime::Leg& leg, double bytes);
runtime::StepCost storage_step(const Machine& machine, const Setting& setting, int workers);
double load_seconds(const Machine& machine, const Job& job, const Setting& setting, int workers);
// Bytes that the largest process holds at its peak; 0 where that is not known.
double peak_bytes(const Job& job, const Setting& setting, int workers);
// The price of `processes` for so long, and of requests.
double price_of(const Price& price, int processes, double seconds, double requests);
int processes_of(const Machine& machine, const Setting& setting, int workers);

Round predict_round(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                    const Setting& setting, int workers);
// THROWS Error(kInput) when the profile says nothing of what the setting needs, or the shape is
// impossible.
Point predict(const Machine& machine, const Job& job, const Setting& setting, int workers);
// Seconds of one worker that has the data and exchanges nothing.
double sequential_seconds(const Machine& machine, const Job& job);

}  // namespace meanwhile::plan
