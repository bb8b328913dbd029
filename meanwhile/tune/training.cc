#include "meanwhile/tune/training.h"

#include "meanwhile/job/run_directory.h"

namespace meanwhile::tune {

TrainedState train(const Setting& setting, std::unique_ptr<learn::RoundLearner> learner,
                   const data::Part& part, int threads) {
  TrainedState trained;
  trained.result =
      job::train(*learner, part, {.threads = threads, .seed = setting.seed}, nullptr, setting.stop);
  if (trained.result.interrupted) return trained;
  trained.fell_short =
      trained.result.ending == learn::Ending::kRanOut && learner->seeks_convergence();
  const job::StateFile file = job::state_file(learner->state(), trained.result.rounds);
  trained.file = data::safetensors_bytes(file.tensors, file.metadata);
  return trained;
}

}  // namespace meanwhile::tune
