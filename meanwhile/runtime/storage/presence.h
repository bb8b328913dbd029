// Whether the job is still at the store.
#pragma once

#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

enum class Presence {
  kHere,
  kCancelled,  // cancel() has begun; it removes everything itself
  kGone,       // there is no such job, or another one
  kUnclear,    // the record was not there, or came cut: look again at due_s()
};

// Asks more than once before it says that the job is gone: a record that shows late, or was cut on
// its way, is not gone. Thread safety: one thread at a time.
class PresenceCheck {
 public:
  // Everything is borrowed.
  PresenceCheck(storage::BlobStore& blobs, const JobRecord& job) : blobs_(blobs), job_(job) {}

  // One look, at `now_s`. THROWS what the store throws.
  Presence look(double now_s);
  // The same, but a job that is being cancelled is kHere as long as its record is.
  Presence look_at_record(double now_s);
  // Whether the last look was unclear, and when the next is due.
  bool pending() const { return tries_ > 0; }
  double due_s() const { return due_s_; }

 private:
  storage::BlobStore& blobs_;
  const JobRecord& job_;
  Pace pace_;
  int tries_ = 0;
  double due_s_ = 0;
};

// Removes blobs that workers may have put after the job was taken away. REQUIRES: the job is kGone.
void remove_orphans(storage::Store& store, const JobRecord& job);

}  // namespace meanwhile::runtime
