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

// Whether this rank should print its error, for a rank that failed before MPI began. Usually all
// ranks fail the same way and rank 0 prints for all. mpirun ends the others once a rank has exited,
// so other ranks wait first; one that is still alive afterwards failed alone (a file is missing on
// its host) and prints.
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
