// The heartbeat of a worker: every few seconds it renews the leases, writes a record that shows
// that the worker lives and what it does, and lists the records of the others.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <string>

#include "meanwhile/base/mutex.h"
#include "meanwhile/runtime/storage/activity.h"
#include "meanwhile/runtime/storage/leases.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// Thread safety: any thread.
class Heartbeat {
 public:
  // Everything is borrowed, also by the functions, which are called on any thread.
  struct Asks {
    std::function<Json(double now_s)> about;  // further fields of the record
    // Called at every beat of a worker that holds tasks: whether it is stuck and the job goes on
    // without it. The tasks are given back then.
    std::function<bool()> lags;
  };
  Heartbeat(storage::BlobStore& blobs, const JobRecord& job, std::string worker, Leases& leases,
            Asks asks, Environment& environment);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Lists the records of the others, then writes this worker's record now, including whether it
  // wants more tasks. THROWS what the store throws.
  void beat(double now_s) MW_EXCLUDES(beat_mutex_, mutex_);

  // As the records showed at the last beat:
  int live() const MW_EXCLUDES(mutex_);  // workers, this one included; at least 1
  bool another_wants_tasks() const
      MW_EXCLUDES(mutex_);                      // another worker lives and is short of tasks
  bool end_hinted() const MW_EXCLUDES(mutex_);  // the job may have ended: look at the store
  // Whether this worker is short of tasks. A worker that holds none always is.
  void set_wants_tasks(bool wants) { wants_tasks_ = wants; }

  // Activity::kHeartbeat. Wakes Activity::kRounds after each beat.
  Wait step(double now_s) MW_EXCLUDES(step_mutex_, beat_mutex_, mutex_);
  // Returns when no step is running; later ones do nothing.
  void stop() MW_EXCLUDES(step_mutex_, mutex_);
  // THROWS the error that ended step().
  void check() const MW_EXCLUDES(mutex_);

  // Writes the last record to where usage is kept, unless the job is gone, and removes the live
  // record. REQUIRES: stop() was called, and the worker writes nothing after this: cancel() waits
  // for the live records to go before it deletes the job.
  void leave(double now_s, bool job_is_gone) MW_EXCLUDES(beat_mutex_);

 private:
  // When another worker's record last changed.
  struct Sighting {
    std::string etag;
    double changed_s = 0;  // by this machine's clock, when the etag was first seen
  };
  Json record(double now_s) const;
  void write(double now_s) MW_REQUIRES(beat_mutex_);
  void look(double now_s) MW_REQUIRES(beat_mutex_) MW_EXCLUDES(mutex_);

  storage::BlobStore& blobs_;
  const JobRecord& job_;
  const Names names_;
  const std::string worker_;
  Leases& leases_;
  const Asks asks_;
  Environment& environment_;
  const double beat_s_;
  std::atomic<bool> wants_tasks_ = false;

  base::Mutex step_mutex_;  // one step at a time
  double next_s_ MW_GUARDED_BY(step_mutex_) = -1;
  double renewed_s_ MW_GUARDED_BY(step_mutex_) = 0;

  // One beat at a time.
  base::Mutex beat_mutex_ MW_ACQUIRED_AFTER(step_mutex_);
  bool shows_wants_ MW_GUARDED_BY(beat_mutex_) = false;  // there is a blob that says it
  bool written_ MW_GUARDED_BY(beat_mutex_) = false;      // there is, or was, a record
  std::map<std::string, Sighting> sightings_ MW_GUARDED_BY(beat_mutex_);  // by worker

  mutable base::Mutex mutex_ MW_ACQUIRED_AFTER(beat_mutex_);
  int live_ MW_GUARDED_BY(mutex_) = 1;
  bool another_wants_ MW_GUARDED_BY(mutex_) = false, end_hinted_ MW_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ MW_GUARDED_BY(mutex_);
  bool ended_ MW_GUARDED_BY(mutex_) = false;
};

}  // namespace meanwhile::runtime
