// Rounds of belief propagation done by hand, so that a test can stop between any two of them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/exchange/sum.h"
#include "test/belief/run_belief.h"

namespace meanwhile::test {

// A state as a run directory writes it.
class SavedState {
 public:
  explicit SavedState(const learn::Learner& learner) {
    const learn::State state = learner.state();
    auto tensors = state.learned;
    for (const auto& [name, tensor] : state.carried) tensors["carried/" + name] = tensor;
    bytes_ = data::safetensors_bytes(tensors, {{"learner", learner.name()},
                                               {"parameters", state.parameters.dump()},
                                               {"progress", state.progress.dump()},
                                               {"about", state.about.dump()}});
  }
  data::SafetensorsFile file() const { return {bytes_, "state"}; }

 private:
  std::vector<std::byte> bytes_;
};

class Rounds {
 public:
  Rounds(learn::RoundLearner& learner, const data::Part& part) : learner_(&learner), part_(part) {
    attach();
    for (int s = 0; s < std::ssize(part.shards); ++s) memory_.emplace_back(learner.memory_shape(s));
  }

  // Goes on with another learner, and with memory that was written and read.
  void change(learn::RoundLearner& learner) {
    learner_ = &learner;
    attach();
    for (auto& memory : memory_) {
      const auto bytes = data::safetensors_bytes(memory.tensors(), {});
      memory.restore(data::SafetensorsFile(bytes, "memory"));
    }
  }

  learn::Outcome next() {
    const auto shards = static_cast<int>(part_.shards.size());
    exchange::OrderedSum sum(shards, learner_->update_shape());
    for (int s = 0; s < shards; ++s) {
      exchange::Update update = sum.take();
      learner_->work(s, memory_[static_cast<std::size_t>(s)], update);
      sum.give(s, std::move(update));
    }
    return learner_->absorb(sum.total());
  }

 private:
  void attach() { learner_->attach({&part_, nullptr, 0, false, &pool_}); }

  learn::RoundLearner* learner_;
  const data::Part& part_;
  base::ThreadPool pool_{1};
  std::vector<learn::ShardMemory> memory_;
};

}  // namespace meanwhile::test
