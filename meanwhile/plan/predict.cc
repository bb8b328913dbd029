#include "meanwhile/plan/predict.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/mirrors.h"
#include "meanwhile/exchange/tree.h"

namespace meanwhile::plan {

using base::Error;
using base::ErrorKind;
using learn::Phase;

namespace {

int shards_of(const Setting& setting, int workers) {
  return setting.shards > 0 ? setting.shards : workers;
}

// How fast a worker is, as a multiple of what the profile says of one: cores of one computer share
// memory and power, and more threads than cores share cores.
double speed(const Machine& machine, const Setting& setting, int workers) {
  if (machine.cores <= 0) return 1;
  const bool processes = setting.medium != Medium::kMemory;
  const int threads = processes ? setting.threads : 1;
  const int busy = processes ? std::min(setting.together, workers) * threads : workers;
  if (busy > machine.cores) return threads * machine.together * machine.cores / busy;
  if (machine.cores == 1) return threads;
  // Along the time, so that one more thread never makes all of them slower.
  return threads / (1 + (1 / machine.together - 1) * (busy - 1) / (machine.cores - 1));
}

double memory_of(const Machine& machine) {
  constexpr double kUsualMemory = 10e9;
  return machine.memory > 0 ? machine.memory : kUsualMemory;
}

// Adding the updates of a worker's own shards: two read, one written. Threads share all of them.
double own_sum_seconds(const Machine& machine, const Setting& setting, double update_bytes,
                       int workers) {
  const int shards = shards_of(setting, workers);
  double additions = std::ceil(1.0 * shards / workers) - 1;
  if (setting.medium == Medium::kMemory) {
    const int hands = machine.cores > 0 ? std::min(workers, machine.cores) : workers;
    additions = 1.0 * (shards - 1) / hands;
  }
  return additions * 3 * update_bytes / memory_of(machine);
}

// The time of bytes where a limit of 0 is none.
double per_byte(double own, double shared, int at_once) {
  return std::max(own > 0 ? 1 / own : 0, shared > 0 ? at_once / shared : 0);
}

bool alone(const Machine& machine, const Setting& setting, int workers) {
  return workers == 1 && !(setting.medium == Medium::kStorage && machine.storage &&
                           !machine.storage->separate_reducers);
}

void check(const Machine& machine, const Job& job, const Setting& setting, int workers) {
  const auto refuse = [&](const char* what) {
    throw Error(ErrorKind::kInput, "{} x {} with {} stored: {}",
                base::counted(job.shape.rows, "row"), base::counted(job.shape.cols, "column"),
                base::counted(job.shape.stored, "value"), what);
  };
  if (job.shape.rows < 1) refuse("expected at least one row");
  if (job.shape.cols < 1) refuse("expected at least one column");
  const double cells = static_cast<double>(job.shape.rows) * static_cast<double>(job.shape.cols);
  if (job.shape.stored < 0 || static_cast<double>(job.shape.stored) > cells) {
    refuse("expected no more values than rows x columns");
  }
  if (workers < 1) throw Error(ErrorKind::kInput, "{} workers: expected at least one", workers);
  if (setting.medium == Medium::kNetwork && workers > 1 && !machine.network) {
    throw Error(ErrorKind::kInput,
                "machine '{}' says nothing of a network, which workers of MPI need: add [network] "
                "with bandwidth and latency, or calibrate it with mpirun",
                machine.name);
  }
  if (setting.medium == Medium::kStorage && !machine.storage) {
    throw Error(ErrorKind::kInput,
                "machine '{}' says nothing of storage: add [storage] with read, write and latency, "
                "or calibrate it with `store`",
                machine.name);
  }
}

}  // namespace

double largest_share(const Setting& setting, int workers) {
  const int shards = shards_of(setting, workers);
  return std::ceil(1.0 * shards / workers) / shards;
}

double work_seconds(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                    const Setting& setting, int workers, double share) {
  if (cost.flops <= 0 && cost.bytes_read <= 0) return 0;
  const double cols = shape.sparse ? static_cast<double>(shape.stored) /
                                         static_cast<double>(std::max<std::int64_t>(1, shape.rows))
                                   : static_cast<double>(shape.cols);
  const double rate = machine.rate(cost.kernel, shape.sparse, cols, cost.outputs, width_of(shape));
  const double reading = machine.memory > 0 ? cost.bytes_read / machine.memory : 0;
  return share * std::max(cost.flops / rate, reading) / speed(machine, setting, workers);
}

// With mirrors a worker absorbs the rows that it needs.
double absorb_seconds(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                      const Setting& setting, int workers) {
  const bool mirrors = setting.medium == Medium::kNetwork &&
                       setting.exchange == job::Exchange::kMirrors && cost.mirrored_bytes > 0;
  const double part = mirrors ? shape.copies_at(workers) / workers : 1;
  return machine.round + part * cost.absorb_bytes / memory_of(machine);
}

namespace {

exchange::Cost sum_cost(const learn::Cost& cost, const learn::Shape& shape, const Setting& setting,
                        int workers) {
  const int shards = shards_of(setting, workers);
  if (setting.exchange == job::Exchange::kTree) {
    return exchange::tree_cost(cost.update_bytes, workers, shards, exchange::kWirePieceBytes);
  }
  if (setting.exchange == job::Exchange::kMirrors && cost.mirrored_bytes > 0) {
    return exchange::mirrors_cost(cost.mirrored_bytes, shape.copies_at(workers),
                                  shape.busiest_at(workers),
                                  cost.update_bytes - cost.mirrored_bytes, workers);
  }
  const auto sum = [&](double touched) {
    return exchange::allreduce_cost(cost.update_bytes, workers, shards, touched,
                                    exchange::kWirePieceBytes);
  };
  if (cost.touched_bytes == 0 || workers == 1) return sum(1);
  // A value that is on one worker is where it is added, more or less: data that is near in its file
  // is near in the update. The link that carries most may carry more than that.
  const double others = (shape.copies_at(workers) - 1) / (workers - 1);
  const double most = std::max(others, shape.busiest_at(workers) * workers / (workers - 1));
  exchange::Cost all = sum(std::min(1.0, cost.touched_bytes * most));
  all.sent = sum(std::min(1.0, cost.touched_bytes * others)).bytes;
  return all;
}

}  // namespace

double exchange_seconds(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                        const Setting& setting, int workers) {
  if (workers == 1) return 0;
  const Network& network = *machine.network;
  const exchange::Cost sum = sum_cost(cost, shape, setting, workers);
  return sum.waits * network.latency + sum.messages * network.per_message +
         sum.bytes * per_byte(network.bandwidth, 0, 1);
}

double leg_seconds(const Storage& storage, const runtime::Leg& leg, double bytes) {
  using Kind = runtime::Leg::Kind;
  const double own = leg.kind == Kind::kWrite    ? storage.write
                     : leg.kind == Kind::kSpread ? storage.spread
                                                 : storage.read;
  // Storage that serves one blob to all as fast as if there were many is not held back by all.
  const bool counted = leg.kind != Kind::kSpread || storage.spread > 0;
  const double shared = counted ? storage.aggregate : 0;
  return leg.blobs * (storage.latency + bytes * per_byte(own, shared, leg.at_once));
}

runtime::StepCost storage_step(const Machine& machine, const Setting& setting, int workers) {
  if (machine.storage->separate_reducers) return runtime::separate_reducers_cost(workers);
  return runtime::step_cost(runtime::layout_of(shards_of(setting, workers)), workers);
}

double load_seconds(const Machine& machine, const Job& job, const Setting& setting, int workers) {
  const bool stored = setting.medium == Medium::kStorage && !alone(machine, setting, workers);
  const double value_bytes = machine.storage ? machine.storage->value_bytes : 4;
  const double bytes =
      job.load_bytes > 0 ? job.load_bytes : value_bytes * static_cast<double>(job.shape.stored);
  const double share = largest_share(setting, workers);
  if (!stored) {
    const bool own_disks = setting.medium == Medium::kNetwork;
    return machine.disk > 0 ? bytes * (own_disks ? share : 1) / machine.disk : 0;
  }
  return share * bytes * per_byte(machine.storage->read, machine.storage->aggregate, workers);
}

// A worker at a store also holds blobs that wait for the store, which depends on its speed: no
// learner says anything of that.
double peak_bytes(const Job& job, const Setting& setting, int workers) {
  constexpr double kProgram = 16e6, kRank = 24e6;  // code, libraries, MPI
  constexpr double kWhileDealt = 3;  // rows of a rank: as read, on their way and as dealt
  if (!job.memory || setting.medium == Medium::kStorage) return 0;
  const learn::Shape& shape = job.shape;
  const bool threads = setting.medium == Medium::kMemory;
  const double row_bytes = shape.sparse ? 8 : 4.0 * static_cast<double>(shape.cols);
  const double rows = row_bytes * static_cast<double>(shape.rows) +
                      (shape.sparse ? 8 * static_cast<double>(shape.stored) : 0);
  learn::Division division;
  division.workers = threads ? 1 : workers;
  division.threads = threads ? workers : setting.threads;
  // The default of training, which depends on the data alone.
  division.shards = setting.shards > 0
                        ? setting.shards
                        : data::default_shards(static_cast<std::int64_t>(std::min(rows, 1e18)));
  const double learner = job.memory(shape, division);
  if (learner <= 0) return 0;
  if (division.workers == 1) return kProgram + rows + learner;
  Setting dealt = setting;
  dealt.shards = division.shards;
  const double mine = rows * largest_share(dealt, workers);
  return kRank + std::max(kWhileDealt * mine, mine + learner);
}

double price_of(const Price& price, int processes, double seconds, double requests) {
  const double billed = price.billed_seconds > 0
                            ? std::ceil(seconds / price.billed_seconds) * price.billed_seconds
                            : seconds;
  return processes * billed / 3600 * price.hour + requests / 1e6 * price.million_requests;
}

int processes_of(const Machine& machine, const Setting& setting, int workers) {
  const bool more =
      setting.medium == Medium::kStorage && machine.storage && machine.storage->separate_reducers;
  return workers + (more ? runtime::separate_reducers(workers) : 0);
}

Round predict_round(const Machine& machine, const learn::Cost& cost, const learn::Shape& shape,
                    const Setting& setting, int workers) {
  Round round;
  const double share =
      workers == 1 ? 1 : std::min(1.0, largest_share(setting, workers) + shape.uneven);
  round.work = work_seconds(machine, cost, shape, setting, workers, share);
  round.absorb = absorb_seconds(machine, cost, shape, setting, workers);
  const bool in_place = setting.medium == Medium::kMemory;
  const double added = cost.update_bytes - (in_place ? cost.mirrored_bytes : 0);
  round.exchange = own_sum_seconds(machine, setting, added, workers);
  if (alone(machine, setting, workers)) return round;
  if (setting.medium == Medium::kNetwork) {
    round.exchange += exchange_seconds(machine, cost, shape, setting, workers);
    round.bytes = sum_cost(cost, shape, setting, workers).sent;
  } else if (setting.medium == Medium::kStorage) {
    const runtime::StepCost step = storage_step(machine, setting, workers);
    round.exchange = 0;
    for (const runtime::Leg& leg : step.legs) {
      round.exchange += leg_seconds(*machine.storage, leg, cost.update_bytes) +
                        (leg.waits ? machine.storage->notice : 0);
    }
    round.requests = step.requests;
    round.bytes = step.blobs_moved * cost.update_bytes;
  }
  return round;
}

double sequential_seconds(const Machine& machine, const Job& job) {
  const Setting setting;
  double seconds = machine.start + load_seconds(machine, job, setting, 1);
  for (const learn::Stretch& stretch : job.course) {
    if (stretch.phase != Phase::kTrain) continue;
    seconds +=
        stretch.rounds * predict_round(machine, stretch.round, job.shape, setting, 1).seconds();
  }
  return seconds;
}

Point predict(const Machine& machine, const Job& job, const Setting& setting, int workers) {
  check(machine, job, setting, workers);
  Point point;
  point.workers = workers;
  point.processes = processes_of(machine, setting, workers);
  point.by = setting.exchange;
  point.memory_bytes = peak_bytes(job, setting, workers);
  double train_requests = 0;
  point.load = machine.start + load_seconds(machine, job, setting, workers);
  for (const learn::Stretch& stretch : job.course) {
    const Round round = predict_round(machine, stretch.round, job.shape, setting, workers);
    point.requests += stretch.rounds * round.requests;
    point.bytes += stretch.rounds * round.bytes;
    if (stretch.phase == Phase::kPrepare) point.seed += stretch.rounds * round.seconds();
    if (stretch.phase == Phase::kScore) point.score += stretch.rounds * round.seconds();
    if (stretch.phase != Phase::kTrain) continue;
    point.round = round;
    train_requests += stretch.rounds * round.requests;
    point.work += stretch.rounds * round.work;
    point.exchange += stretch.rounds * round.exchange;
    point.absorb += stretch.rounds * round.absorb;
  }
  point.seconds = point.load + point.work + point.exchange + point.absorb;
  constexpr double kTooLong = 3e11;  // ten thousand years
  if (!(point.seconds + point.seed + point.score < kTooLong)) {
    throw Error(ErrorKind::kInput,
                "machine '{}' would take {:.3g} s with {}: is its profile right?", machine.name,
                point.seconds + point.seed + point.score, base::counted(workers, "worker"));
  }
  point.speedup = sequential_seconds(machine, job) / point.seconds;
  point.efficiency = point.speedup / point.processes;
  point.price = price_of(machine.price, point.processes, point.seconds, train_requests);
  point.total_price = price_of(machine.price, point.processes,
                               point.seconds + point.seed + point.score, point.requests);
  return point;
}

}  // namespace meanwhile::plan
