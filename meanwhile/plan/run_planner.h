// The plan beside a run: what is expected of it, and how far that was off.
#pragma once

#include <functional>
#include <optional>

#include "meanwhile/job/planner.h"
#include "meanwhile/plan/audit.h"
#include "meanwhile/plan/machine.h"

namespace meanwhile::plan {

// Thread safety: one thread at a time.
class RunPlanner final : public job::Planner {
 public:
  // `open`: the profile of the machine, asked for when the first run is planned.
  explicit RunPlanner(std::function<Machine()> open) : open_(std::move(open)) {}

  base::Json choose(const job::PlannedRun& run) override;
  base::Json expect(const job::PlannedRun& run, const learn::RoundLearner& learner) override;
  std::optional<job::Comparison> compare(const job::TrainResult& result, double load_s,
                                         const base::Json& bill) override;

 private:
  // The profile, with what runs on it have shown.
  Machine machine() const;

  std::function<Machine()> open_;
  std::optional<Expected> expected_;  // none: the profile says nothing of such a run
};

}  // namespace meanwhile::plan
