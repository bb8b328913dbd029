// What whoever holds the root keeps for all: states to go on from, the history, and in the end the
// result. Old rounds are removed as new states are there, so that a job takes bounded room.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "meanwhile/runtime/storage/chores.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/shard_runner.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// A line of metrics.jsonl, and the step it is about.
struct Line {
  std::int64_t step = 0;
  Json json;
};

// The line of a round that took `seconds`, `rounds` of training with it.
Json round_line(const learn::Outcome& outcome, std::int64_t rounds, std::int64_t step,
                double seconds, double elapsed_s);

class Archive {
 public:
  // Everything is borrowed.
  Archive(storage::Store& store, const JobRecord& job) : store_(store), job_(job) {}

  // Every worker that absorbs a step tells it here, so that any of them can take the root over.
  // A worker that caught up begins with the lines that its state carried.
  void begin(const data::Metadata& carried);
  void add(Line line);
  double elapsed_s() const { return elapsed_s_; }
  void set_elapsed(double seconds) { elapsed_s_ = seconds; }

  // For the root, after the step before bench.step() was absorbed, whose total had `total_bytes`:
  // puts the state if it is time to, beside the work, and removes what nobody needs any more.
  void keep(const ShardRunner& bench, std::size_t total_bytes);
  // The result, the model, and nothing else but the usage is left behind. `ended`: fields of
  // result.json. REQUIRES: no other worker needs a round any more, or is told by the result.
  void finish(const ShardRunner& bench, const Json& ended, double patience_s,
              const std::string& worker);
  void check() const { chores_.check(); }
  // Waits until what was begun is at the store.
  void settle() { chores_.finish(); }
  // Nothing is put any more.
  void stop() { chores_.stop(); }

 private:
  void put_metrics();
  std::string all_metrics();
  void remove_before(std::int64_t step);
  void wait_for_others(double patience_s, const std::string& worker);

  storage::Store& store_;
  const JobRecord& job_;
  const Names names_{job_.id};
  double elapsed_s_ = 0;

  std::vector<Line> lines_;  // those that metrics.jsonl may not have yet

  std::size_t bytes_since_state_ = 0, state_bytes_ = 0;
  int totals_since_state_ = 0;
  double metrics_s_ = base::now_s();  // when they were last put
  std::string metrics_;               // what metrics.jsonl holds, once it was looked at
  std::int64_t metrics_step_ = -1;    // the last step in it
  std::int64_t metrics_wanted_ = -1;  // the last step that must be in it
  std::size_t metrics_lines_ = 0;     // in it
  bool metrics_known_ = false;

  std::int64_t state_before_ = -1;  // the last one put here; used by the chores
  std::int64_t removed_to_ = -1;    // rounds below are gone; used by the chores; -1: not known
  Chores chores_;                   // last: what it runs uses the others
};

// Removes all of the job, or all but its result. The queue goes, too.
void remove_job(storage::Store& store, const JobRecord& job, bool keep_result);

}  // namespace meanwhile::runtime
