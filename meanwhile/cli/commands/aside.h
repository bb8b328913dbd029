// The run that was where a new one is written.
#pragma once

#include "meanwhile/cli/output/console.h"
#include "meanwhile/job/run.h"

namespace meanwhile::cli {

// After a run: with `overwrite`, removes the run directory that was moved aside for it, unless the
// new run was interrupted or a foreign file is in the old one. Says where the old one is, if it is.
void say_aside(Console& console, const job::RunResult& result, bool overwrite);

}  // namespace meanwhile::cli
