// The blobs that the worker that holds the root writes for all: states to go on from, the history,
// and in the end the result. Old rounds are removed as new states are there, so that a job takes
// bounded room.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "meanwhile/runtime/storage/history.h"
#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/shard_runner.h"
#include "meanwhile/runtime/storage/uploads.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// Thread safety: one thread at a time, beside Activity::kUpload.
class Archive {
 public:
  // Everything is borrowed.
  Archive(storage::Store& store, const JobRecord& job, Uploads& uploads, double now_s)
      : store_(store), job_(job), uploads_(uploads), metrics_s_(now_s) {}

  // Every worker that absorbs a step adds its line here, so that any of them can take the root
  // over. A worker that caught up begins with the lines in the metadata of its state.
  void begin(const data::Metadata& state_metadata);
  void add(Line line);
  // A kPrepare step took so long. All that follow each other have one line, before the next.
  void add_preparing(std::int64_t step, double seconds);
  double elapsed_s() const { return elapsed_s_; }
  void set_elapsed(double seconds) { elapsed_s_ = seconds; }

  // For the root, after the step before runner.step() was absorbed, whose total had `total_bytes`:
  // puts the state if it is time to, beside the work, and removes rounds that no worker needs.
  void keep(double now_s, const ShardRunner& runner, std::size_t total_bytes);
  // Writes the metrics, the model and `ended`, the result, in this order. Returns false when the
  // history could not be read yet, or another worker wrote it meanwhile: call again at due_s().
  // REQUIRES: uploads.idle().
  bool finish(double now_s, const ShardRunner& runner, const Json& ended);
  double due_s() const { return history_due_s_; }

 private:
  bool put_history(const std::vector<Line>& lines, std::int64_t wanted);
  // Whether a learner has more than its state.
  struct Beside {
    bool memory = false, tables = false;
  };
  void remove_needless(Beside beside);
  void remove_before(std::int64_t step, Beside beside);

  storage::Store& store_;
  const JobRecord& job_;
  Uploads& uploads_;
  const Names names_{job_.id};
  double elapsed_s_ = 0;

  std::vector<Line> lines_;  // those that metrics.jsonl may not have
  struct {
    std::int64_t steps = 0, last = 0;
    double seconds = 0;
  } preparing_;  // since the last line

  std::size_t bytes_since_state_ = 0, state_bytes_ = 0;
  int totals_since_state_ = 0;

  // State of metrics.jsonl. Uploads use those that are atomic, too.
  double metrics_s_;                             // when lines were last added
  std::int64_t metrics_wanted_ = -1;             // the last step that must be in it
  std::atomic<std::int64_t> metrics_step_ = -1;  // the last step known to be in it
  std::atomic<std::size_t> metrics_lines_ = 0;   // in it
  std::atomic<int> history_tries_ = 0;           // in vain
  double history_due_s_ = 0;
  Pace history_pace_;

  std::int64_t state_before_ = -1;  // the last one put here; used by uploads
  std::int64_t complete_save_ = 0;  // of memory, the newest known; used by uploads
  std::int64_t removed_to_ = -1;    // rounds below are gone; used by uploads; -1: not known
};

// Whether another worker than `worker` lives, by the age of its record.
bool others_live(storage::BlobStore& blobs, const JobRecord& job, const std::string& worker);

// Removes all blobs of the job, or all but its result. The queue goes, too.
void remove_job(storage::Store& store, const JobRecord& job, bool keep_result);

}  // namespace meanwhile::runtime
