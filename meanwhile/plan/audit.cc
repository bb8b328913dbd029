#include "meanwhile/plan/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace meanwhile::plan {

using base::Json;
using learn::Phase;

namespace {

constexpr double kWorthSaying = 0.05;  // of the seconds of training

// The stretch of training; what it costs is what the work's rate is made of.
const learn::Stretch* training(const Job& job) {
  for (const learn::Stretch& stretch : job.course) {
    if (stretch.phase == Phase::kTrain) return &stretch;
  }
  return nullptr;
}

}  // namespace

Json expected_round(const Expected& expected) {
  const Point point = predict(expected.machine, expected.job, expected.setting, expected.workers);
  Json json = {{"work", point.round.work},
               {"exchange", point.round.exchange},
               {"absorb", point.round.absorb},
               {"seconds", point.round.seconds()}};
  if (point.round.bytes > 0) json["bytes"] = point.round.bytes;
  if (point.round.requests > 0) json["requests"] = point.round.requests;
  if (expected.machine.price.hour > 0) {
    json["price"] =
        price_of({expected.machine.price.hour, expected.machine.price.million_requests, 0},
                 point.processes, point.round.seconds(), point.round.requests);
  }
  return json;
}

Audit audit(const Expected& expected, const Measured& measured) {
  const auto& [machine, job, setting, workers, staleness, may_overlap] = expected;
  const Point point = predict(machine, job, setting, workers);
  const job::SecondsByPhase& spent = measured.seconds_by_phase;
  const auto rounds = static_cast<double>(spent.rounds);
  Audit audit;
  audit.learner = job.learner;
  audit.runtime = job::runtime_name(setting.medium);
  audit.machine = machine.name;
  audit.workers = workers;
  audit.rounds = rounds;
  audit.seconds_by_phase["load"] = {point.load, measured.load_s};
  audit.seconds_by_phase["work"] = {rounds * point.round.work, spent.work};
  audit.seconds_by_phase["exchange"] = {rounds * point.round.exchange, spent.exchange};
  audit.seconds_by_phase["absorb"] = {rounds * point.round.absorb, spent.absorb};
  if (spent.prepare > 0) audit.seconds_by_phase["prepare"] = {point.seed, spent.prepare};
  if (spent.score > 0) audit.seconds_by_phase["score"] = {point.score, spent.score};
  for (const auto& [name, part] : audit.seconds_by_phase) {
    audit.seconds.predicted += part.predicted;
    audit.seconds.measured += part.measured;
  }
  // A store's bill is of all steps, and of the rows on their way there and back.
  double bytes = rounds * point.round.bytes, requests = rounds * point.round.requests;
  if (setting.medium == Medium::kStorage) {
    for (const learn::Stretch& stretch : job.course) {
      if (stretch.phase == Phase::kTrain) continue;
      const Round round = predict_round(machine, stretch.round, job.shape, setting, workers);
      bytes += stretch.rounds * round.bytes;
      requests += stretch.rounds * round.requests;
    }
    bytes += 2 * 4 * static_cast<double>(job.shape.stored) * (job.shape.sparse ? 2 : 1);
    requests += 2 * std::max(setting.shards, 1);
  }
  audit.bytes = {bytes, measured.bytes};
  audit.requests = {requests, measured.requests};
  audit.price = {
      price_of(machine.price, point.processes, audit.seconds.predicted, audit.requests.predicted),
      measured.price > 0
          ? measured.price
          : price_of(machine.price, point.processes, audit.seconds.measured, measured.requests)};
  const learn::Stretch* stretch = training(job);
  // Too short to tell a rate from the waking of threads.
  constexpr double kLeastSeconds = 0.05;
  if (stretch != nullptr && spent.work > kLeastSeconds && stretch->round.flops > 0) {
    // The rate that would have predicted it.
    const double scale = rounds * point.round.work / spent.work;
    const learn::Shape& shape = job.shape;
    const double cols = shape.sparse
                            ? static_cast<double>(shape.stored) / static_cast<double>(shape.rows)
                            : static_cast<double>(shape.cols);
    // Work that waits for memory is as slow as that, whatever the rate.
    const learn::Cost& cost = stretch->round;
    const double in_memory = machine.memory > 0 && cost.bytes_read > 0
                                 ? cost.flops * machine.memory / cost.bytes_read
                                 : std::numeric_limits<double>::infinity();
    const double rate = std::min(
        in_memory, machine.rate(cost.kernel, shape.sparse, cols, cost.outputs, width_of(shape)));
    audit.rate = {cost.kernel, shape.sparse, cols, cost.outputs, rate * scale, 1, width_of(shape)};
  }
  // Threads add with the cores that work: there is nothing to overlap.
  if (may_overlap && workers > 1 && setting.medium != Medium::kMemory) {
    const Overlapped found = overlapped(spent.work, spent.exchange, spent.absorb);
    if (found.saved >= kWorthSaying) audit.overlapped = found;
  }
  return audit;
}

std::string to_text(const Audit& audit) {
  const auto percent = [](const Compared& c) { return fmt::format("{:+.0f} %", 100 * c.error()); };
  std::string text = fmt::format("predicted {:.3g} s, took {:.3g} s ({})", audit.seconds.predicted,
                                 audit.seconds.measured, percent(audit.seconds));
  for (const auto& [name, part] : audit.seconds_by_phase) {
    // A small part of both is not worth a word.
    if (std::max(part.predicted, part.measured) < 0.02 * audit.seconds.measured) continue;
    text += fmt::format("; {} {:.3g} s, took {:.3g}", name, part.predicted, part.measured);
  }
  text += fmt::format(" (machine {})\n", audit.machine);
  if (audit.overlapped) {
    text += fmt::format("--staleness 1 would have saved {:.0f} % of the time\n",
                        100 * audit.overlapped->saved);
  }
  return text;
}

}  // namespace meanwhile::plan
