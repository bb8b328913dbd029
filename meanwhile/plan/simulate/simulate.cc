#include "meanwhile/plan/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/plan/simulate/simulation.h"

namespace meanwhile::plan {

using base::Error;
using base::ErrorKind;
using learn::Phase;

namespace {

void check(const FaultModel& faults) {
  const auto within = [](const char* what, double value, double low, double high) {
    if (value >= low && value <= high) return;
    if (std::isinf(high)) {
      throw Error(ErrorKind::kUsage, "{} {}: expected at least {}", what, value, low);
    }
    throw Error(ErrorKind::kUsage, "{} {}: expected {} to {}", what, value, low, high);
  };
  constexpr double kAny = std::numeric_limits<double>::infinity();
  within("jitter", faults.jitter, 0, 10);
  within("stragglers", faults.stragglers, 0, 1);
  within("slowdown", faults.slowdown, 1, kAny);
  within("slow_links", faults.slow_links, 0, 1);
  within("link_slowdown", faults.link_slowdown, 1, kAny);
  within("deaths", faults.deaths, 0, kAny);
  within("restart_s", faults.restart_s, 0, kAny);
  within("late_blobs", faults.late_blobs, 0, 1);
  within("lateness_s", faults.lateness_s, 0, kAny);
}

// Steps of a stretch. Rounds may be a mean of past jobs and no whole number: then each of the steps
// counts a little more or less than one.
int steps_of(const learn::Stretch& stretch) {
  return stretch.rounds > 0 ? std::max(1, static_cast<int>(std::lround(stretch.rounds))) : 0;
}

// The smallest value that so much of all are no larger than. REQUIRES: sorted, not empty.
double quantile(const std::vector<double>& sorted, double part) {
  const auto nth = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size(), std::max<std::size_t>(nth, 1)) - 1];
}

void add_up_rounds(Simulated& simulated) {
  if (simulated.rounds.empty()) return;
  std::vector<double> sorted = simulated.rounds;
  std::sort(sorted.begin(), sorted.end());
  simulated.mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  simulated.p50 = quantile(sorted, 0.5);
  simulated.p95 = quantile(sorted, 0.95);
  simulated.p99 = quantile(sorted, 0.99);
  simulated.max = sorted.back();
}

}  // namespace

void refuse_deaths(std::int64_t deaths, int step) {
  throw Error(ErrorKind::kFailed,
              "{} deaths, and step {} is not done: workers die faster than they work; fewer "
              "deaths, fewer workers or a shorter restart_s would do",
              deaths, step + 1);
}

Simulated simulate(const Machine& machine, const Job& job, const Setting& setting, int workers,
                   const FaultModel& faults, std::uint64_t seed) {
  check(faults);
  Simulated simulated;
  simulated.predicted = predict(machine, job, setting, workers);
  simulated.workers = workers;
  simulated.processes = simulated.predicted.processes;

  const FaultDraws draws(faults, seed);
  SimInput input{machine, job, setting, workers, draws, {}};
  for (std::size_t i = 0; i < job.course.size(); ++i) {
    input.stretch_of.insert(input.stretch_of.end(),
                            static_cast<std::size_t>(steps_of(job.course[i])), static_cast<int>(i));
  }
  const bool at_store =
      setting.medium == Medium::kStorage && !storage_step(machine, setting, workers).legs.empty();
  const SimTrace trace = at_store ? live_at_store(input) : live_as_ranks(input);

  simulated.load = trace.load;
  for (std::size_t step = 0; step < trace.steps.size(); ++step) {
    const learn::Stretch& stretch = job.course[static_cast<std::size_t>(input.stretch_of[step])];
    const double weight = stretch.rounds / steps_of(stretch);
    const StepTimes& times = trace.steps[step];
    if (stretch.phase == Phase::kPrepare) simulated.seed += weight * times.seconds;
    if (stretch.phase == Phase::kScore) simulated.score += weight * times.seconds;
    if (stretch.phase != Phase::kTrain) continue;
    simulated.rounds.push_back(times.seconds);
    simulated.work += weight * times.work;
    simulated.waiting += weight * times.waiting;
    simulated.exchange += weight * times.exchange;
    simulated.absorb += weight * times.absorb;
    simulated.recovery += weight * times.recovery;
  }
  add_up_rounds(simulated);
  simulated.seconds = simulated.load + simulated.work + simulated.waiting + simulated.exchange +
                      simulated.absorb + simulated.recovery;
  simulated.ratio =
      simulated.predicted.seconds > 0 ? simulated.seconds / simulated.predicted.seconds : 1;
  simulated.requests = simulated.predicted.requests + trace.requests;
  simulated.total_price =
      price_of(machine.price, simulated.processes,
               simulated.seconds + simulated.seed + simulated.score, simulated.requests);
  simulated.deaths = trace.deaths;
  simulated.speculated = trace.speculated;
  return simulated;
}

}  // namespace meanwhile::plan
