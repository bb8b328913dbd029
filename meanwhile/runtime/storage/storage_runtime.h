// A run through a store: the job is submitted, done by workers of this process, one thread each,
// fetched, and removed. Other workers may join it. Interrupted, the job stays at the store, for
// workers or for the same run again.
#pragma once

#include "meanwhile/job/prepare.h"
#include "meanwhile/job/runtime.h"
#include "meanwhile/runtime/storage/open_store.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/submit.h"
#include "meanwhile/runtime/storage/worker.h"

namespace meanwhile::runtime {

class StorageRuntime final : public job::Runtime {
 public:
  struct Options {
    int workers = 0;         // of this process; 0: as many as the machine has threads
    bool fixed = false;      // the plan must not choose a smaller number
    double lease_s = 30;     // a worker that gave no sign for so long has gone
    double timeout_s = 600;  // without any progress of the job
    Prices prices = {};
  };
  // The registry must outlive the runtime.
  StorageRuntime(StorePlace place, const learn::Registry& registry, const Options& options);

  job::Deployment deployment() const override;
  void use(int workers) override { options_.workers = workers; }
  void check(const job::RunSpec& spec) const override;
  void each_worker(const std::function<void(const job::Worker&)>& body) override;
  job::Trained train(const job::Worker& worker, const job::Training& training) override;

 private:
  WorkerResult work(const JobRecord& job, std::int64_t memory_limit_bytes,
                    job::Observer& observer) const;

  const StorePlace place_;
  const learn::Registry& registry_;
  Options options_;
};

// Puts the job of a spec at a store, for workers anywhere. Returns what was submitted and what is
// known of the run. THROWS what reading, the learner and the store throw.
struct SubmittedRun {
  Submitted submitted;
  Json record;
  learn::Shape shape;
  std::vector<learn::Stretch> course;  // the rounds to come
};
SubmittedRun submit_run(const job::RunSpec& spec, const learn::Registry& registry,
                        const StorePlace& place, double lease_s, job::Observer& observer);

// Writes the result of a finished job to a run directory, with its bill. Returns how the job ended,
// and as "metrics_whole" whether the metrics are as they were put (kDamagedMetrics).
// THROWS Error(kInput) when it has not ended, Error(kFailed) when it failed.
Json fetch_result(OpenStore& opened, const JobRecord& job, const Prices& prices,
                  job::RunDirectory& directory, base::Clock& clock);

}  // namespace meanwhile::runtime
