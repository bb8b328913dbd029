// Faults of a worker in a round of a simulation: pure functions of seed, worker and round.
// A larger chance only adds faults: a worker that is slow with a chance of 1 % is slow with 2 %,
// too.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "meanwhile/base/random.h"
#include "meanwhile/plan/simulate/simulate.h"

namespace meanwhile::plan {

class FaultDraws {
 public:
  FaultDraws(const FaultModel& faults, std::uint64_t seed) : faults_(faults), seed_(seed) {}

  const FaultModel& faults() const { return faults_; }

  // How many times as long as predicted the n-th piece of work of a round takes.
  double factor(int worker, int round, int piece) const {
    double times = 1;
    if (faults_.stragglers > 0 && at(worker, round).uniform(kStraggles) < faults_.stragglers) {
      times = faults_.slowdown;
    }
    if (faults_.jitter <= 0) return times;
    // Box and Muller.
    const auto index = kPieces + 2 * static_cast<std::uint64_t>(piece);
    const double radius = std::sqrt(-2 * std::log1p(-at(worker, round).uniform(index)));
    const double angle = 2 * std::numbers::pi * at(worker, round).uniform(index + 1);
    return times * std::exp(faults_.jitter * radius * std::cos(angle));
  }

  bool slow_link(int worker) const {
    return faults_.slow_links > 0 && at(worker, 0).uniform(kLink) < faults_.slow_links;
  }

  // Seconds until the n-th death of the process that is worker `worker`.
  double life(int worker, int nth) const {
    if (faults_.deaths <= 0) return std::numeric_limits<double>::infinity();
    return -std::log1p(-at(worker, nth).uniform(kLife)) * 3600 / faults_.deaths;
  }

  // How much later than others `reader` sees blob `blob`.
  double lateness(int reader, int round, int blob) const {
    const auto index = kBlobs + static_cast<std::uint64_t>(blob);
    const bool late =
        faults_.late_blobs > 0 && at(reader, round).uniform(index) < faults_.late_blobs;
    return late ? faults_.lateness_s : 0;
  }

  // Which of n late updates it makes.
  int pick(int worker, int n) const {
    return static_cast<int>(at(worker, 0).below(kPick, static_cast<std::uint64_t>(n)));
  }

 private:
  // Indices of base::Random; pieces and blobs count up from theirs.
  static constexpr std::uint64_t kStraggles = 0, kLink = 1, kLife = 2, kPick = 3;
  static constexpr std::uint64_t kPieces = 1ULL << 32, kBlobs = 1ULL << 40;

  base::Random at(int worker, int round) const {
    return base::Random(seed_, base::Purpose::kUser, static_cast<std::uint32_t>(worker),
                        static_cast<std::uint32_t>(round));
  }

  FaultModel faults_;
  std::uint64_t seed_;
};

}  // namespace meanwhile::plan
