// simulate_clocks() is a recursion over clocks, in which an event has the time of the latest event
// that it waits for and its own seconds (max-plus). B is when a worker begins the work of a clock,
// F when it is done, X when the sum of a clock is with all workers.
//
//   staleness 0   B[w,k] = X[k-1] + absorb                     X[k] = max_w F[w,k] + exchange
//   staleness 1   B[w,k] = max(F[w,k-1], X[k-2]) + absorb      X[k] = max_w B[w,k+1] + exchange
//
// The second is the loop "begin the sum of k, work on k + 1, wait for the sum, absorb it": a clock
// takes max(work, exchange) + absorb. With stealing, a worker that has no shard of clock k left
// takes one that it may work on; a worker begins clock k + 1 only when there is none.
//
// From a staleness s of 2 on the model is cut into slices with an owner each. Half of the exchange
// brings a clock's update to the owners (at U), half brings the answer back (at A):
//
//   B[w,k] = max(F[w,k-1], A[w,k-2]) + absorb
//   U[w,k] = max(F[w,k] + exchange / 2, U[w,k-1] + exchange)       a link has answers to bring, too
//   A[w,k] = max(U[w,k], max_q U[q,k+1-s],
//                min(max_q U[q,k], U[w,k] + patience * work of w)) + exchange / 2
//
// An owner answers when the bound allows it and when all sources are there, or patience ends. A
// read of clock k sees what had arrived when the update of clock k - 2 was answered. All owners see
// the same arrivals, so one stands for all of them.
//
// Two things are left out: the owners' additions, and links that are shared or slow.
#include "meanwhile/plan/staleness.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

#include "meanwhile/base/random.h"

namespace meanwhile::plan {

Spread spread_of(std::span<const std::int64_t> histogram) {
  double reads = 0, sum = 0, squares = 0;
  for (std::size_t d = 0; d < histogram.size(); ++d) {
    const auto count = static_cast<double>(histogram[d]), lacking = static_cast<double>(d);
    reads += count;
    sum += count * lacking;
    squares += count * lacking * lacking;
  }
  if (reads == 0) return {};
  const double mean = sum / reads;
  return {mean, std::max(0.0, squares / reads - mean * mean)};
}

double ssp_step(const Convex& problem, int staleness, int workers) {
  return problem.F / (problem.L * std::sqrt(2.0 * (staleness + 1) * workers));
}

double ssp_regret(const Convex& problem, int staleness, int workers, double updates) {
  return 4 * problem.F * problem.L * std::sqrt(2.0 * (staleness + 1) * workers / updates);
}

double essp_regret(const Convex& problem, double eta, double mean_staleness, double updates) {
  const double L2 = problem.L * problem.L;
  return (eta * L2 + problem.F * problem.F / eta + 2 * eta * L2 * mean_staleness) /
         std::sqrt(updates);
}

double essp_tail(const Convex& problem, double eta, int staleness, int workers, double variance,
                 double updates, double tau) {
  const double L2 = problem.L * problem.L;
  const double mean_step = eta * eta * L2 * L2 * (std::log(updates) + 1) / updates;
  const double spread =
      2 * mean_step * variance + 2.0 / 3 * eta * L2 * (2 * staleness + 1) * workers * tau;
  return std::exp(-updates * tau * tau / spread);
}

namespace {

// An owner waits for sources that the bound does not ask for, this part of the asker's work time.
constexpr double kPatience = 0.4;

class Speed {
 public:
  explicit Speed(const ClockedJob& job)
      : slow_(job.stragglers),
        last_(job.workers - 1),
        period_s_(slow_.rounds * job.work_s),
        seed_(job.seed) {}

  // When a worker is done with so many seconds of work that it begins at `begin`.
  double done(int worker, double begin, double seconds) const {
    if (!slow_.any() || period_s_ <= 0) return begin + seconds;
    if (slow_.one) return begin + seconds * (worker == last_ ? slow_.slowdown : 1);
    double now = begin, left = seconds;
    for (auto period = static_cast<std::uint64_t>(begin / period_s_);; ++period) {
      const double times = is_slow(worker, period) ? slow_.slowdown : 1;
      const double end = std::max(now, static_cast<double>(period + 1) * period_s_);
      if (now + left * times <= end) return now + left * times;
      left -= (end - now) / times;
      now = end;
    }
  }

 private:
  // Indices from here on are of no other simulation.
  static constexpr std::uint64_t kSlow = 1ULL << 48;

  bool is_slow(int worker, std::uint64_t period) const {
    const base::Random draw(seed_, base::Purpose::kUser, static_cast<std::uint32_t>(worker),
                            static_cast<std::uint32_t>(period));
    return draw.uniform(kSlow + (period >> 32)) < slow_.share;
  }

  Stragglers slow_;
  int last_;
  double period_s_;
  std::uint64_t seed_;
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Clocks at the start that are not measured: workers are together there.
int warm_up(int clocks) { return clocks / 10; }

// Seconds a clock, from when each clock was complete.
double mean_clock(const std::vector<double>& complete) {
  const int last = static_cast<int>(complete.size()) - 1, first = warm_up(last);
  if (first == last) return complete.back();
  return (complete.back() - complete[at(first)]) / (last - first);
}

// All workers wait for the same sums: staleness 0 and 1.
class Rounds {
 public:
  explicit Rounds(const ClockedJob& job)
      : job_(job),
        speed_(job),
        shards_(std::max(job.shards, job.workers)),
        shard_s_(job.work_s / ((shards_ + job.workers - 1) / job.workers)),
        free_(at(job.workers)) {
    if (job.stealing != Stealing::kNone && job.fetch_s > 0) {
      has_rows_.resize(at(shards_) * free_.size());
    }
  }

  ClockTimes run() {
    std::vector<double> complete;
    double sum = 0, sum_before = 0;  // when the sums of the last two clocks are with all workers
    for (int clock = 0; clock < job_.clocks; ++clock) {
      const bool rounds = job_.staleness == 0;
      const double worked = work(rounds ? sum : sum_before);
      sum_before = sum;
      sum = (rounds ? worked : std::max(worked, sum) + job_.absorb_s) + job_.exchange_s;
      complete.push_back(sum);
    }
    ClockTimes times;
    times.clock_s = mean_clock(complete);
    times.histogram.assign(at(job_.staleness) + 1, 0);
    times.histogram.back() =
        std::int64_t{job_.clocks - warm_up(job_.clocks - 1)} * job_.workers * (job_.workers - 1);
    return times;
  }

 private:
  // The work of a clock whose reads are there at `ready`. Returns when the last shard is done.
  double work(double ready) {
    left_.assign(free_.size(), shards_ / job_.workers);
    for (int w = 0; w < shards_ % job_.workers; ++w) ++left_[at(w)];
    stolen_.assign(free_.size(), 0);
    using Free = std::pair<double, int>;  // when, worker
    std::priority_queue<Free, std::vector<Free>, std::greater<>> next;
    for (int w = 0; w < job_.workers; ++w) {
      next.emplace(std::max(free_[at(w)], ready) + job_.absorb_s, w);
    }
    double done = ready;
    while (!next.empty()) {
      auto [now, worker] = next.top();
      next.pop();
      free_[at(worker)] = now;
      const int owner = owner_for(worker);
      if (owner < 0) continue;
      if (owner != worker) now += fetch(worker, owner);
      --left_[at(owner)];
      now = speed_.done(worker, now, shard_s_);
      done = std::max(done, now);
      next.emplace(now, worker);
    }
    return done;
  }

  // The owner whose shard a worker takes next; -1: there is none for it.
  int owner_for(int worker) const {
    if (left_[at(worker)] > 0) return worker;
    if (job_.stealing == Stealing::kNone) return -1;
    if (job_.stealing == Stealing::kNeighbour) {
      const int before = (worker + job_.workers - 1) % job_.workers;
      return left_[at(before)] > 0 ? before : -1;
    }
    const auto most = std::max_element(left_.begin(), left_.end());
    return *most > 0 ? static_cast<int>(most - left_.begin()) : -1;
  }

  // Seconds until a worker has the rows of the shard that it steals. An owner begins with its first
  // shard and is robbed of its last one, so that the same shards are stolen again and again.
  double fetch(int worker, int owner) {
    if (has_rows_.empty()) return 0;
    const int of_owner = shards_ / job_.workers + (owner < shards_ % job_.workers ? 1 : 0);
    const int shard = owner + job_.workers * (of_owner - 1 - stolen_[at(owner)]++);
    auto has_rows = has_rows_[at(shard) * free_.size() + at(worker)];
    if (has_rows) return 0;
    has_rows = true;
    return job_.fetch_s;
  }

  const ClockedJob& job_;
  Speed speed_;
  int shards_;
  double shard_s_;
  std::vector<double> free_;    // when a worker has no shard to do
  std::vector<int> left_;       // shards of an owner that no worker took yet
  std::vector<int> stolen_;     // shards of an owner that others took
  std::vector<bool> has_rows_;  // by shard and worker, where fetching takes time
};

// Every worker is at a clock of its own: a staleness of 2 and more.
class OwnClocks {
 public:
  explicit OwnClocks(const ClockedJob& job) : job_(job), speed_(job) {}

  ClockTimes run() {
    std::vector<double> complete;
    free_.assign(at(job_.workers), 0);
    for (int clock = 0; clock < job_.clocks; ++clock) {
      work(clock);
      complete.push_back(arrived_in_order_.back().back());
    }
    ClockTimes times;
    times.clock_s = mean_clock(complete);
    times.histogram.assign(at(job_.staleness) + 1, 0);
    for (int clock = std::max(2, warm_up(job_.clocks)); clock < job_.clocks; ++clock) {
      count_reads(clock, times.histogram);
    }
    return times;
  }

 private:
  using ByWorker = std::vector<double>;

  // Updates of the clock arrive, and are answered as far as owners look at them.
  void work(int clock) {
    const double half = job_.exchange_s / 2;
    ByWorker arrived(free_.size()), patience(free_.size()), answered(free_.size());
    for (int w = 0; w < job_.workers; ++w) {
      double begin = free_[at(w)];
      if (clock >= 2) begin = std::max(begin, answered_[at(clock) - 2][at(w)] + half);
      begin += job_.absorb_s;
      free_[at(w)] = speed_.done(w, begin, job_.work_s);
      arrived[at(w)] = free_[at(w)] + half;
      if (clock > 0) {
        arrived[at(w)] = std::max(arrived[at(w)], arrived_[at(clock) - 1][at(w)] + 2 * half);
      }
      patience[at(w)] = kPatience * (free_[at(w)] - begin);
    }
    ByWorker in_order = arrived;
    std::sort(in_order.begin(), in_order.end());
    const int required = clock + 1 - job_.staleness;  // the last clock of all that must be there
    const double allowed = required < 0 ? 0 : arrived_in_order_[at(required)].back();
    for (int w = 0; w < job_.workers; ++w) {
      const double enough = std::min(in_order.back(), arrived[at(w)] + patience[at(w)]);
      answered[at(w)] = std::max(allowed, enough);
    }
    arrived_.push_back(std::move(arrived));
    arrived_in_order_.push_back(std::move(in_order));
    answered_.push_back(std::move(answered));
  }

  // Adds the reads of a clock to the histogram. A read lacks at most d clocks of a source if the
  // source's update of clock - d - 1 had arrived.
  void count_reads(int clock, std::vector<std::int64_t>& histogram) const {
    for (int w = 0; w < job_.workers; ++w) {
      const double looked = answered_[at(clock) - 2][at(w)];
      std::int64_t before = 0;
      for (int d = 0; d <= job_.staleness; ++d) {
        std::int64_t others = job_.workers - 1;
        if (const int seen = clock - d - 1; seen >= 0) {
          const ByWorker& in_order = arrived_in_order_[at(seen)];
          others = std::upper_bound(in_order.begin(), in_order.end(), looked) - in_order.begin();
          others -= arrived_[at(seen)][at(w)] <= looked ? 1 : 0;
        }
        histogram[at(d)] += others - before;
        before = others;
      }
    }
  }

  const ClockedJob& job_;
  Speed speed_;
  ByWorker free_;
  // By clock and worker: when an update had arrived at the owners, and when they looked at what is
  // there to answer it.
  std::vector<ByWorker> arrived_, answered_;
  std::vector<ByWorker> arrived_in_order_;  // by clock: of all workers, ascending
};

}  // namespace

ClockTimes simulate_clocks(const ClockedJob& job) {
  assert(job.workers >= 1 && job.clocks >= 1 && job.staleness >= 0);
  assert(job.staleness < 2 || job.stealing == Stealing::kNone);
  ClockTimes times = job.staleness < 2 ? Rounds(job).run() : OwnClocks(job).run();
  times.mean_staleness = spread_of(times.histogram).mean;
  return times;
}

}  // namespace meanwhile::plan
