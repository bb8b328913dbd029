// Remarks of a run that more than one line decides on.
#pragma once

#include "meanwhile/data/part.h"
#include "meanwhile/job/observer.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::job {

// Says how many of `threads` have nothing to do. Shards are the units of work, and their number is
// part of the answer: it is the user's to change.
void note_idle(const data::Part& part, int threads, Observer& observer);

// Says that the rounds ran out before the end that the learner looks for. `parameters`: settled.
void note_unconverged(const learn::Learner& learner, const base::Json& parameters,
                      const TrainResult& result, Observer& observer);

}  // namespace meanwhile::job
