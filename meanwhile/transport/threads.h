// Workers that are threads of one process: mailboxes in memory.
#pragma once

#include <memory>

#include "meanwhile/transport/transport.h"

namespace meanwhile::transport {

// The ends of all workers of a job. A message is copied once, from the sender's buffer to the
// receiver's, by the later of the two; until then a send is not done.
// Thread safety: each member is for one thread at a time, but fail() of any may be called from any.
class ThreadGroup {
 public:
  // REQUIRES: workers >= 1.
  explicit ThreadGroup(int workers, double deadline_s = kDeadlineSeconds);
  ~ThreadGroup();

  int size() const;
  // The end of one worker. Lives as long as the group.
  Transport& member(int rank);

 private:
  struct Shared;
  class Member;
  std::unique_ptr<Shared> shared_;
};

}  // namespace meanwhile::transport
