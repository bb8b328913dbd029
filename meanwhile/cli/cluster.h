// Where this process stands among the ranks that mpirun started; the only place that asks.
#pragma once

#include <memory>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/console.h"
#include "meanwhile/transport/mpi.h"

namespace meanwhile::cli {

// What the launcher says in the environment, before MPI has started.
struct Launched {
  bool by_mpi = false;
  int rank = 0, size = 1;
  int local_size = 1;  // ranks on this machine, who share its cores
};
// Knows Open MPI, MPICH and its kin (PMI), and MVAPICH.
Launched launched();

// The ranks of a job, from after the parsing to the end. One in the life of the process.
class Cluster {
 public:
  explicit Cluster(double deadline_s);

  transport::Transport& world() { return session_.world(); }
  // Ends all ranks: the first one says why, the others wait for it to say so, but not for ever.
  [[noreturn]] void give_up(Console& console, const base::Error& error, int exit_code);

 private:
  transport::MpiSession session_;
};

}  // namespace meanwhile::cli
