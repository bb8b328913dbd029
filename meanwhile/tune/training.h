// One training of a comparison, in memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/data/part.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/comparing.h"
#include "meanwhile/learn/entry.h"

namespace meanwhile::tune {

// All trainings have this in common. Everything is borrowed.
struct Setting {
  const learn::Entry& entry;
  const learn::Comparing& comparing;
  std::uint64_t seed = 0;
  const std::atomic<bool>* stop = nullptr;
};

struct TrainedState {
  std::vector<std::byte> file;  // the state as a safetensors file
  job::TrainResult result;
  bool fell_short = false;  // max_iter ended it before it converged
};

// Trains and keeps the state. THROWS as job::train.
TrainedState train(const Setting& setting, std::unique_ptr<learn::RoundLearner> learner,
                   const data::Part& part, int threads);

// A name for messages about states that lie in memory.
inline constexpr const char* kStateName = "a model that is compared";

}  // namespace meanwhile::tune
