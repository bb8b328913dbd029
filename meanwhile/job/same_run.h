// Workers of one run agree about it before they begin. A file of settings or an environment that
// differs from host to host would otherwise train a mixture of two models.
#pragma once

#include "meanwhile/base/json.h"
#include "meanwhile/job/prepare.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// All that the model, and how workers exchange updates, depend on but the rows: version, learner,
// parameters, seed, shards, the state to resume from. Workers compare the rows when they load them.
base::Json identity_of(const SettledRun& run);

// Collective: compares a hash of the identities. THROWS on every worker the same Error(kUsage) that
// names the first parameter that differs and both values; what the transport throws.
//
// A store needs no such step: its workers take everything from one job record, which names the
// version.
void check_same_run(transport::Transport& transport, const SettledRun& run);
void check_same_run(transport::Transport& transport, const base::Json& identity);

}  // namespace meanwhile::job
