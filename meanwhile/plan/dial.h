// How stale reads should be: seconds a round, staleness and memory at each setting of the dial
// `staleness`, and which of them to take.
//
//   0        rounds: work, then exchange, then absorb
//   1        the exchange of a round overlaps the work of the next one; deterministic
//   2, ...   every worker is at a clock of its own, that many ahead of the slowest at most
#pragma once

#include <string>
#include <vector>

#include "meanwhile/plan/predict.h"
#include "meanwhile/plan/staleness.h"

namespace meanwhile::plan {

struct DialSetting {
  int staleness = 0;
  Stealing stealing = Stealing::kNone;
  double round_s = 0;
  double mean_staleness = 0;   // rounds of another worker that a read lacks
  std::vector<double> shares;  // shares[d]: part of such pairs that lack d rounds
  double buffer_bytes = 0;     // of updates and their sums that a worker holds at once
  double saved = 0;            // part of the seconds of the first setting
};

struct DialAdvice {
  std::vector<DialSetting> settings;  // from the freshest reads on; empty: not predicted
  std::size_t best = 0;               // the first within a tenth of the fastest
  std::string why;                    // or why nothing is predicted
};

// Settings 0, 1, 4 and 8; and 0 and 1 with stealing, where workers may be slow and there are more
// shards than workers. Threads always steal then. `workers`: more than one. THROWS as predict().
DialAdvice advise_dial(const Machine& machine, const Job& job, const Setting& setting, int workers,
                       const Stragglers& stragglers);

// Buffers of the size of an update that a worker holds at once.
double update_buffers(int staleness, int workers);

// Measured rounds as staleness 1 would have made them: max(work, exchange) + absorb instead of work
// + exchange + absorb.
struct Overlapped {
  double seconds = 0;
  double saved = 0;  // part of the measured seconds
};
Overlapped overlapped(double work_s, double exchange_s, double absorb_s);

// "none", "neighbour", "any".
std::string to_string(Stealing stealing);

}  // namespace meanwhile::plan
