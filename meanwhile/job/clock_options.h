#pragma once

#include "meanwhile/tables/reads_log.h"

namespace meanwhile::job {

// Options of a run whose workers do not wait for each other (clock_engine.h).
struct ClockOptions {
  int staleness = 2;
  double checkpoint_s = 10;      // as LoopOptions::checkpoint_seconds
  tables::RecordedRun run = {};  // what the record is of
  // The record of the run that is resumed; null: it begins. Borrowed.
  const tables::ReadsLog* before = nullptr;
};

}  // namespace meanwhile::job
