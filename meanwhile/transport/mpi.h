// Workers that are the ranks of an MPI job (MPI 3 or later).
#pragma once

#include <cstddef>
#include <memory>

#include "meanwhile/transport/transport.h"

namespace meanwhile::transport {

struct MpiOptions {
  double deadline_s = kDeadlineSeconds;
  // Longer messages travel in pieces, since MPI counts in int. At least kShortMessage, but in
  // tests.
  std::size_t piece_bytes = std::size_t{1} << 30;
};

// MPI from its start to its end. At most one in the life of a process.
//
// Waiting is quiet. MPI implementations spin while they wait, which starves the others where there
// are more ranks than cores; here a wait tests, for some tens of microseconds after anything moved
// without pause, then between sleeps of 20 to 200 microseconds.
//
// A failure is told to all ranks by messages of their own, which every wait looks for. After it MPI
// cannot be ended in order, since messages may be lost: print the cause, then abort_all(). A rank
// that is killed is noticed by mpirun, which ends the others.
//
// Thread safety: all of it by the thread that made it (MPI_THREAD_FUNNELED); other threads may run.
class MpiSession {
 public:
  // THROWS Error(kSystem) when MPI does not start or gives less than MPI_THREAD_FUNNELED.
  explicit MpiSession(MpiOptions options = {});
  // Calls finish() if nothing failed and no exception is on its way; otherwise leaves MPI as it is.
  ~MpiSession();

  // The end of this rank. Lives as long as the session.
  Transport& world();

  // Waits, quietly, for all ranks to come here, and ends MPI. THROWS what Transport::wait does.
  void finish();

  // Ends all ranks at once with this exit code: this process, too, ends in it.
  void abort_all(int exit_code) noexcept;

 private:
  class World;
  std::unique_ptr<World> world_;
};

}  // namespace meanwhile::transport
