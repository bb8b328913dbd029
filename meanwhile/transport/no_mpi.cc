// Instead of mpi.cc in a build with MEANWHILE_MPI=OFF: the constructor throws, so that nothing else
// here is ever called.
#include "meanwhile/transport/mpi.h"

namespace meanwhile::transport {

namespace {

base::Error no_mpi() {
  return base::Error(base::ErrorKind::kUsage,
                     "this build has no MPI (it was configured with MEANWHILE_MPI=OFF)");
}

}  // namespace

class MpiSession::World {};

MpiSession::MpiSession(MpiOptions) { throw no_mpi(); }
MpiSession::~MpiSession() = default;
Transport& MpiSession::world() { throw no_mpi(); }
void MpiSession::finish() { throw no_mpi(); }
void MpiSession::abort_all(int) noexcept {}

}  // namespace meanwhile::transport
