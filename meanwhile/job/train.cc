#include "meanwhile/job/train.h"

#include <memory>
#include <utility>

#include "meanwhile/base/memory.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/job/clock_engine.h"
#include "meanwhile/job/pipeline_engine.h"
#include "meanwhile/job/sum_engine.h"
#include "meanwhile/job/table_engine.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::job {

TrainResult train(learn::RoundLearner& learner, const data::Part& data, const TrainOptions& options,
                  RunDirectory* run, const std::atomic<bool>* stop, const ObserveRound& observe) {
  const int workers = options.transport == nullptr ? 1 : options.transport->size();
  const std::int64_t limit =
      options.memory_limit_bytes == 0 ? base::memory_bytes() / 4 * 3 : options.memory_limit_bytes;
  // Each of several workers touches its own rows only: nothing is to be made resident beyond them.
  // Dealt by content, a worker maps no others.
  const int sharing = data.deal == data::Deal::kContent ? 1 : workers;
  const bool release =
      data.data.mapped && data::byte_size(data.data) / sharing * options.replicas > limit;
  if (!release && workers == 1) data::make_resident(data.data);

  const SumOptions sum = {
      .threads = options.threads == 0 ? base::hardware_threads() : options.threads,
      .seed = options.seed,
      .release = release,
      .transport = options.transport,
      .exchange = options.exchange,
      .replicas = options.replicas,
      .eval = options.eval,
      .rounds_done = options.rounds_done,
      .resumed_from = options.resumed_from,
      .stop = stop,
      .keeps_memory = run != nullptr};
  TrainResult result;
  std::unique_ptr<transport::ThreadGroup> alone;  // of a worker without others
  std::unique_ptr<Engine> engine;
  if (learner.table_work() != nullptr) {
    auto made = std::make_unique<TableEngine>(
        learner, data, sum, TableOptions{limit, run == nullptr ? "" : run->path()});
    result.threads = made->threads();
    engine = std::move(made);
  } else if (options.clocks) {
    SumOptions clocked = sum;
    if (clocked.transport == nullptr) {
      alone = std::make_unique<transport::ThreadGroup>(1);
      clocked.transport = &alone->member(0);
    }
    auto made = std::make_unique<ClockEngine>(learner, data, clocked, *options.clocks);
    result.threads = made->threads();
    engine = std::move(made);
  } else if (options.twin != nullptr && workers == 1) {
    auto made = std::make_unique<PipelineEngine>(learner, *options.twin, data, sum);
    result.threads = made->threads();
    engine = std::move(made);
  } else {
    auto made = std::make_unique<SumEngine>(learner, data, sum);
    result.threads = made->threads();
    engine = std::move(made);
  }
  result.shards = static_cast<int>(data.shards.size());
  result.workers = workers;
  const LoopOptions loop = {.rounds_done = options.rounds_done,
                            .metrics_lines = options.metrics_lines,
                            .time_limit_s = options.time_limit_s,
                            .checkpoint_seconds = options.checkpoint_seconds,
                            .data_sha256 = data.sha256,
                            .predicted = options.predicted,
                            .about = {{"seed", options.seed},
                                      {"shards", result.shards},
                                      {"threads", result.threads},
                                      {"workers", workers}},
                            .returns_model = options.returns_model};
  static_cast<LoopResult&>(result) = run_loop(*engine, loop, run, stop, observe);
  if (const tables::ReadsLog* log = engine->reads()) {
    result.observed_staleness = tables::staleness_histogram(*log);
    result.waits = tables::waits_of(*log);
  }
  return result;
}

TrainResult train(learn::RoundLearner& learner, const data::Dataset& data,
                  const TrainOptions& options, RunDirectory* run, const std::atomic<bool>* stop,
                  const ObserveRound& observe) {
  const int threads = options.threads == 0 ? base::hardware_threads() : options.threads;
  const int shards =
      options.shards == 0 ? data::default_shards(data::byte_size(data)) : options.shards;
  const data::Part part = data::whole(data, shards, options.seed, threads);
  return train(learner, part, options, run, stop, observe);
}

}  // namespace meanwhile::job
