#include "meanwhile/job/notes.h"

#include <fmt/format.h>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/parameter_name.h"

namespace meanwhile::job {

using base::counted;
using base::parameter;

void note_idle(const data::Part& part, int threads, Observer& observer) {
  const int shards = static_cast<int>(part.shards.size());
  if (threads <= shards) return;
  observer.note(
      fmt::format("{} of {} threads are idle, for the rows are in {}; {} makes more shards, "
                  "and another model",
                  threads - shards, threads, counted(shards, "shard"), parameter("shards")));
}

void note_unconverged(const learn::Learner& learner, const base::Json& parameters,
                      const TrainResult& result, Observer& observer) {
  if (result.ending != learn::Ending::kRanOut || !learner.seeks_convergence()) return;
  // Rounds of each start, where there were several.
  const std::int64_t rounds = base::count_or(parameters, "max_iter", result.rounds);
  observer.note(fmt::format("not converged after {}; {} gives it more", counted(rounds, "round"),
                            parameter("max_iter")));
}

}  // namespace meanwhile::job
