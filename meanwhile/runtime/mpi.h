// A run of several processes that mpirun started: this process is one worker of it.
#pragma once

#include "meanwhile/job/runtime.h"

namespace meanwhile::runtime {

class Mpi final : public job::Runtime {
 public:
  // `world`: to all ranks; borrowed. `together`: ranks on this computer.
  Mpi(transport::Transport& world, int threads, int together)
      : world_(world), threads_(threads), together_(together) {}

  job::Deployment deployment() const override {
    return {"mpi", job::Medium::kNetwork, world_.size(), threads_, together_, false};
  }
  void use(int) override {}
  void each_worker(const std::function<void(const job::Worker&)>& body) override {
    body({&world_, threads_});
  }
  job::Trained train(const job::Worker& worker, const job::Training& training) override {
    return job::train_here(worker, training, threads_);
  }

 private:
  transport::Transport& world_;
  const int threads_, together_;
};

}  // namespace meanwhile::runtime
