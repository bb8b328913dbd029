// A run in one process: threads share the rows and the model. To compare exchanges, every thread
// may instead play a worker of a cluster, with its own rows and its own copy of the model.
#pragma once

#include "meanwhile/job/runtime.h"

namespace meanwhile::runtime {

class Threads final : public job::Runtime {
 public:
  struct Options {
    int threads = 0;                                 // 0: as many as the machine offers
    bool fixed = false;                              // the plan must not choose a smaller number
    bool as_workers = false;                         // every thread is a worker
    double timeout_s = transport::kDeadlineSeconds;  // between such workers
  };
  explicit Threads(const Options& options);

  job::Deployment deployment() const override;
  void use(int threads) override { options_.threads = threads; }
  void check(const job::RunSpec& spec) const override;
  void each_worker(const std::function<void(const job::Worker&)>& body) override;
  job::Trained train(const job::Worker& worker, const job::Training& training) override;

 private:
  Options options_;
};

}  // namespace meanwhile::runtime
