#include "meanwhile/plan/observed.h"

#include <fmt/format.h>

#include <cmath>

namespace meanwhile::plan {

Observed observed_of(std::span<const std::int64_t> histogram, int staleness, tables::Waits waits) {
  Observed observed;
  observed.waits = waits;
  observed.histogram.assign(histogram.begin(), histogram.end());
  observed.spread = spread_of(histogram);
  for (std::size_t lag = 0; lag < histogram.size(); ++lag) {
    if (histogram[lag] > 0) observed.most = static_cast<int>(lag);
  }
  observed.regret_by_bound = std::sqrt(staleness + 1.0);
  observed.regret_by_mean = std::sqrt(1 + 2 * observed.spread.mean);
  return observed;
}

base::Json to_json(const Observed& observed) {
  return {{"histogram", observed.histogram},
          {"mean", observed.spread.mean},
          {"variance", observed.spread.variance},
          {"most", observed.most},
          {"regret_by_bound", observed.regret_by_bound},
          {"regret_by_mean", observed.regret_by_mean},
          {"clocks", observed.waits.clocks},
          {"waits_saved", observed.waits.saved}};
}

std::string to_text(const Observed& observed) {
  std::string text;
  if (observed.waits.clocks > 0) {
    text = fmt::format("{:.0f} % of all clocks began without a wait that rounds would have had\n",
                       100.0 * static_cast<double>(observed.waits.saved) /
                           static_cast<double>(observed.waits.clocks));
  }
  return text + fmt::format(
                    "reads lacked {:.1f} rounds of another worker in the mean, {} at most: a "
                    "regret of at most "
                    "{:.1f} times that of rounds by the bound, {:.1f} times by what was observed\n",
                    observed.spread.mean, observed.most, observed.regret_by_bound,
                    observed.regret_by_mean);
}

}  // namespace meanwhile::plan
