// How stale the reads of a run were, and what theory makes of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/plan/staleness.h"
#include "meanwhile/tables/reads_log.h"

namespace meanwhile::plan {

struct Observed {
  std::vector<std::int64_t> histogram;  // reads that lacked 0, 1, 2 ... clocks of another worker
  Spread spread;
  int most = 0;
  // Bounds of the regret, in those of rounds without staleness: by the bound s, sqrt(s + 1) (Ho et
  // al.), and by the mean that was observed, sqrt(1 + 2 mu) (Dai et al., best step).
  double regret_by_bound = 1, regret_by_mean = 1;
  tables::Waits waits;
};

Observed observed_of(std::span<const std::int64_t> histogram, int staleness,
                     tables::Waits waits = {});

base::Json to_json(const Observed& observed);
// "reads lacked 1.4 rounds of another worker in the mean, 4 at most; ...", a line.
std::string to_text(const Observed& observed);

}  // namespace meanwhile::plan
