#include "meanwhile/job/runtime.h"

namespace meanwhile::job {

std::string_view runtime_name(Medium medium) {
  for (const RuntimeKind& kind : kRuntimeKinds) {
    if (kind.medium == medium) return kind.name;
  }
  return "";
}

Trained train_here(const Worker& worker, const Training& training, int threads) {
  TrainOptions options;
  options.threads = threads;
  options.seed = training.seed;
  options.rounds_done = training.rounds_done;
  options.metrics_lines = training.metrics_lines;
  options.time_limit_s = training.spec.time_limit_s;
  options.checkpoint_seconds = training.spec.checkpoint_seconds;
  options.memory_limit_bytes = training.spec.memory_limit_bytes;
  options.transport = worker.transport;
  options.exchange = training.exchange;
  options.replicas = training.spec.replicas;
  options.eval = training.eval;
  options.twin = training.twin;
  options.clocks = training.clocks;
  options.predicted = training.predicted;
  options.resumed_from = training.resumed_from;
  options.returns_model = !training.spec.keeps_directory;
  return {train(training.learner, training.part, options, training.directory,
                training.observer.begin_rounds(),
                [&](const RoundEvent& event) { training.observer.round(event); })};
}

}  // namespace meanwhile::job
