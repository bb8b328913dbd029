#include "meanwhile/plan/dial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace meanwhile::plan {

namespace {

constexpr int kStaleness[] = {0, 1, 4, 8};
// A staler setting must be faster by this to be worth it: it may need some more rounds. 27 instead
// of 23 rounds were measured at staleness 1, 24 and 25 at staleness 8 and 4, for averaged models.
constexpr double kWorthStaleness = 1.1;
constexpr int kSeeds = 3;
// Beyond this many workers a simulation of stragglers takes minutes.
constexpr int kMostWorkers = 4096;

// A setting without seconds.
struct Asked {
  int staleness;
  Stealing stealing;
};

// In the order in which they give up freshness, then determinism. Threads always steal: they take
// the next shard of all.
std::vector<Asked> settings_for(const Setting& setting, int workers, const Stragglers& slow) {
  const bool steals = slow.any() && setting.shards > workers;
  const bool threads = setting.medium == Medium::kMemory;
  const Stealing stealing =
      setting.medium == Medium::kNetwork ? Stealing::kNeighbour : Stealing::kAny;
  std::vector<Asked> asked;
  for (const int staleness : kStaleness) {
    const bool may_steal = steals && staleness < 2;
    if (!may_steal || !threads) asked.push_back({staleness, Stealing::kNone});
    if (may_steal) asked.push_back({staleness, stealing});
  }
  return asked;
}

ClockedJob clocked_job(const Machine& machine, const Job& job, Setting setting, int workers,
                       int staleness) {
  // Slices go to their owners and back, as in allreduce.
  if (staleness >= 2) setting.exchange = job::Exchange::kAllreduce;
  const Round round = predict(machine, job, setting, workers).round;
  ClockedJob clocked;
  clocked.workers = workers;
  clocked.staleness = staleness;
  clocked.shards = setting.shards;
  clocked.work_s = round.work;
  clocked.exchange_s = round.exchange;
  clocked.absorb_s = round.absorb;
  // The cores that add are those that work.
  if (setting.medium == Medium::kMemory) clocked.work_s += std::exchange(clocked.exchange_s, 0);
  return clocked;
}

// Slowness is drawn: the mean over some seeds.
void simulate(ClockedJob job, DialSetting& found) {
  constexpr int kUpdates = 100'000, kLeastClocks = 100, kMostClocks = 800;
  job.clocks = std::clamp(kUpdates / job.workers, kLeastClocks, kMostClocks);
  if (!job.stragglers.any()) job.workers = std::min(job.workers, 2);  // all are alike
  const int seeds = job.stragglers.any() && !job.stragglers.one ? kSeeds : 1;
  std::vector<std::int64_t> histogram;
  for (int seed = 1; seed <= seeds; ++seed) {
    job.seed = static_cast<std::uint64_t>(seed);
    const ClockTimes times = simulate_clocks(job);
    found.round_s += times.clock_s / seeds;
    histogram.resize(times.histogram.size());
    for (std::size_t d = 0; d < histogram.size(); ++d) histogram[d] += times.histogram[d];
  }
  found.mean_staleness = spread_of(histogram).mean;
  double reads = 0;
  for (const std::int64_t count : histogram) reads += static_cast<double>(count);
  for (const std::int64_t count : histogram) {
    found.shares.push_back(static_cast<double>(count) / std::max(reads, 1.0));
  }
}

std::string percent(double part) { return fmt::format("{:.0f} %", 100 * part); }

std::string name_of(const DialSetting& setting) {
  const char* stealing = setting.stealing == Stealing::kNone        ? ""
                         : setting.stealing == Stealing::kNeighbour ? " with replicas 2"
                                                                    : " with stealing";
  return fmt::format("staleness {}{}", setting.staleness, stealing);
}

std::string reason(const DialAdvice& advice, const ClockedJob& rounds) {
  const DialSetting& best = advice.settings[advice.best];
  const DialSetting& first = advice.settings.front();
  constexpr double kAlike = 0.005;  // of a round
  if (advice.best == 0) {
    double most = 0;
    for (const DialSetting& setting : advice.settings) most = std::max(most, setting.saved);
    if (most < kAlike) return "no other setting is faster";
    const auto faster =
        std::find_if(advice.settings.begin(), advice.settings.end(),
                     [&](const DialSetting& setting) { return setting.saved > most - kAlike; });
    return fmt::format("{} would save {} of a round, which more rounds may cost again",
                       name_of(*faster), percent(faster->saved));
  }
  std::vector<std::string> gains;
  if (best.stealing == Stealing::kNeighbour) {
    gains.emplace_back("the next worker holds the rows of a shard, too, and helps a slow one");
  } else if (best.stealing == Stealing::kAny) {
    gains.emplace_back("free workers take shards of slow ones");
  }
  if (best.staleness == 1 && rounds.exchange_s > 0) {
    gains.push_back(fmt::format("the exchange ({:.3g} s) overlaps the work ({:.3g} s)",
                                rounds.exchange_s, rounds.work_s));
  } else if (best.staleness == 1) {
    gains.emplace_back("a worker begins a round while others end the one before");
  } else if (best.staleness >= 2) {
    gains.push_back(fmt::format("a worker waits for a slower one only when it is {} rounds ahead",
                                best.staleness));
  }
  const char* price = best.staleness == 0 ? "Every read sees the last round of all workers"
                      : best.staleness == 1
                          ? "A read lacks the last round; every run still gives the same model"
                          : "The model depends on timing, which is recorded for a replay";
  return fmt::format("{}: {:.3g} s a round instead of {:.3g} s ({} less). {}",
                     fmt::join(gains, ", and "), best.round_s, first.round_s, percent(best.saved),
                     price);
}

}  // namespace

double update_buffers(int staleness, int workers) {
  if (staleness == 0) return 1;
  if (staleness == 1) return 2;  // one is made while the other one is summed
  // One is made, one is on its way to the owners, answers come in and go out; and the sum of the
  // worker's own slice. Owners add what arrives at once, so that a larger bound needs no more.
  return 4 + 1.0 / workers;
}

Overlapped overlapped(double work_s, double exchange_s, double absorb_s) {
  const double now = work_s + exchange_s + absorb_s;
  const double then = std::max(work_s, exchange_s) + absorb_s;
  return {then, now > 0 ? 1 - then / now : 0};
}

std::string to_string(Stealing stealing) {
  switch (stealing) {
    case Stealing::kNone:
      return "none";
    case Stealing::kNeighbour:
      return "neighbour";
    case Stealing::kAny:
      return "any";
  }
  return {};
}

DialAdvice advise_dial(const Machine& machine, const Job& job, const Setting& setting, int workers,
                       const Stragglers& stragglers) {
  DialAdvice advice;
  if (stragglers.any() && workers > kMostWorkers) {
    advice.why = fmt::format("stragglers are simulated for at most {} workers", kMostWorkers);
    return advice;
  }
  double update_bytes = 0;
  for (const learn::Stretch& stretch : job.course) {
    if (stretch.phase == learn::Phase::kTrain) update_bytes = stretch.round.update_bytes;
  }
  const auto asked = settings_for(setting, workers, stragglers);
  for (const auto& [staleness, stealing] : asked) {
    ClockedJob clocked = clocked_job(machine, job, setting, workers, staleness);
    clocked.stragglers = stragglers;
    clocked.stealing = stealing;
    if (stealing == Stealing::kAny && setting.medium == Medium::kStorage) {
      clocked.fetch_s =
          load_seconds(machine, job, setting, workers) / std::ceil(1.0 * setting.shards / workers);
    }
    DialSetting& found = advice.settings.emplace_back();
    found.staleness = staleness;
    found.stealing = stealing;
    simulate(clocked, found);
    found.buffer_bytes = update_buffers(staleness, workers) * update_bytes;
    const double before = advice.settings.front().round_s;
    found.saved = before > 0 ? 1 - found.round_s / before : 0;
  }
  double fastest = advice.settings.front().round_s;
  for (const DialSetting& found : advice.settings) fastest = std::min(fastest, found.round_s);
  while (advice.settings[advice.best].round_s > kWorthStaleness * fastest) ++advice.best;
  advice.why = reason(advice, clocked_job(machine, job, setting, workers, 0));
  return advice;
}

}  // namespace meanwhile::plan
