// A learner that passes everything on to another: tests override what they watch or change.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/learn/round_learner.h"

namespace meanwhile::test {

class WrappedLearner : public learn::RoundLearner {
 public:
  // `learner` is borrowed.
  explicit WrappedLearner(learn::RoundLearner& learner) : learner_(learner) {}

  std::string name() const override { return learner_.name(); }
  void attach(const learn::Attachment& attachment) override { learner_.attach(attachment); }
  exchange::UpdateShape update_shape() const override { return learner_.update_shape(); }
  void work(int shard, learn::ShardMemory& memory, exchange::Update& update) override {
    learner_.work(shard, memory, update);
  }
  learn::Outcome absorb(const exchange::Update& total) override { return learner_.absorb(total); }
  std::int64_t rounds_left() const override { return learner_.rounds_left(); }
  learn::State state() const override { return learner_.state(); }
  void restore(const data::SafetensorsFile& file) override { learner_.restore(file); }
  learn::Cost cost(const learn::Shape& shape) const override { return learner_.cost(shape); }

 protected:
  learn::RoundLearner& learner_;
};

}  // namespace meanwhile::test
