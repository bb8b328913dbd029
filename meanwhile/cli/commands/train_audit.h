// A training beside its plan: what is expected before it begins, and how far that was off.
#pragma once

#include <string>

#include "meanwhile/cli/commands/train_node.h"
#include "meanwhile/cli/flags/asked.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::cli {

// Settles node.expected from the data in `node` and the machine's profile; leaves it empty, with a
// note in node.record["predicted"], when the profile says nothing of such a job.
// THROWS Error(kInput) for a profile that was named and is no profile.
void expect(const Asked& asked, const learn::RoundLearner& learner, Node& node);

// With --plan, before the learner is made: takes the number of threads, the exchange and what is
// sent from the plan where no flag says otherwise, and says so. The same on every node.
void follow_plan(Asked& asked, Console& console, Node& node);

// After the last round, on the first node: compares, and adds to the run directory and to the
// record of the profile. Returns a line for the user, or nothing.
std::string compare(const Asked& asked, Console& console, Node& node);

}  // namespace meanwhile::cli
