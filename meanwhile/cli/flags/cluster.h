// Where this process stands among the ranks that mpirun started; the only place that asks.
#pragma once

#include <memory>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/transport/mpi.h"

namespace meanwhile::cli {

// The launcher's settings from the environment, before MPI has started.
struct Launched {
  bool by_mpi = false;
  int rank = 0, size = 1;
  int local_size = 1;  // ranks on this machine, who share its cores
};
// Knows Open MPI, MPICH and its kin (PMI), and MVAPICH.
Launched launched();

// For a rank that failed before MPI began. All ranks most likely fail alike, so that the first says
// it for all; but mpirun, when one rank has ended badly, ends the others, so the first must be
// given the time to. Returns whether this rank is to say why: if it is the first, or after some
// seconds in which mpirun did not end it, since it then failed alone, as for a file that only it
// has not.
bool should_print_error(const base::Error& error);

// The ranks of a job, from after the parsing to the end. One in the life of the process.
class Cluster {
 public:
  explicit Cluster(double deadline_s);

  transport::Transport& world() { return session_.world(); }
  // Ends all ranks: the first one says why. Should it be gone, another one does after some seconds.
  [[noreturn]] void give_up(Console& console, const base::Error& error, int exit_code);

 private:
  transport::MpiSession session_;
};

}  // namespace meanwhile::cli
