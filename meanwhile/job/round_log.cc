#include "meanwhile/job/round_log.h"

#include <cmath>

#include "meanwhile/base/error.h"

namespace meanwhile::job {

using base::Json;
using learn::Phase;

void SecondsByPhase::add(const learn::Outcome& outcome, double work_s, double exchange_s,
                         double seconds) {
  if (outcome.phase == Phase::kPrepare) {
    prepare += seconds;
  } else if (outcome.phase == Phase::kScore) {
    score += seconds;
  } else {
    ++rounds;
    work += work_s;
    exchange += exchange_s;
    absorb += seconds - work_s - exchange_s;
  }
}

Json round_line(const learn::Outcome& outcome, const RoundLine& line) {
  Json json;
  if (outcome.phase == Phase::kTrain) {
    json["round"] = line.round;
  } else {
    json["phase"] = "score";
  }
  json["objective"] = outcome.objective;
  if (outcome.record.is_object()) json.update(outcome.record);
  json["seconds_by_phase"] = {{"work", line.work_s},
                              {"exchange", line.exchange_s},
                              {"absorb", line.seconds - line.work_s - line.exchange_s}};
  if (outcome.phase == Phase::kTrain && !line.predicted.is_null()) {
    json["predicted"] = line.predicted;
  }
  json["seconds"] = line.seconds;
  json["elapsed_s"] = line.elapsed_s;
  if (line.more.is_object()) json.update(line.more);
  return json;
}

Json prepare_line(std::int64_t steps, double seconds) {
  return {{"phase", "prepare"}, {"steps", steps}, {"seconds", seconds}};
}

Json staleness_json(std::span<const std::int64_t> histogram, std::int64_t waits_saved) {
  double reads = 0, sum = 0;
  for (std::size_t lag = 0; lag < histogram.size(); ++lag) {
    reads += static_cast<double>(histogram[lag]);
    sum += static_cast<double>(lag) * static_cast<double>(histogram[lag]);
  }
  return {{"mean", sum / reads},
          {"most", std::ssize(histogram) - 1},
          {"histogram", std::vector<std::int64_t>(histogram.begin(), histogram.end())},
          {"waits_saved", waits_saved}};
}

void check_objective(const learn::Outcome& outcome) {
  if (outcome.phase == Phase::kPrepare || std::isfinite(outcome.objective)) return;
  throw base::Error(
      base::ErrorKind::kFailed,
      "the objective is not finite ({}): values of the data or parameters are too large or "
      "too small; scale the data, or give parameters of ordinary size",
      outcome.objective);
}

}  // namespace meanwhile::job
