// A learner with shard memory, small enough to check by hand: every row keeps a running mean of its
// own history, what it was in the rounds so far plus the model, and the model follows the mean of
// these means. Another number of calls of work(), or memory of another round, gives other bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::job {

class MemoryLearner final : public learn::RoundLearner {
 public:
  explicit MemoryLearner(std::int64_t max_iter) : max_iter_(max_iter) {}

  double model = 0;
  std::int64_t rounds = 0;

  std::string name() const override { return "running_mean"; }
  void attach(const learn::Attachment& attachment) override {
    attachment_ = attachment;
    part_ = attachment.part;
  }

  exchange::UpdateShape update_shape() const override {
    return {{.rows = 2}, {.rows = 1, .element = exchange::Element::kInt64}};
  }
  learn::MemoryShape memory_shape(int shard) const override {
    const std::int64_t rows = part_->shards[static_cast<std::size_t>(shard)].rows;
    return {{"mean", "F64", {rows}}, {"seen", "I64", {1}}};
  }

  void work(int shard, learn::ShardMemory& memory, exchange::Update& update) override {
    const auto& x = std::get<data::Dense<float>>(part_->data.x);
    const std::span<double> means = memory.tensor<double>("mean");
    const auto seen = static_cast<double>(++memory.tensor<std::int64_t>("seen")[0]);
    std::size_t i = 0;
    for (const data::RowRange& block : part_->shards[static_cast<std::size_t>(shard)].blocks) {
      for (std::int64_t row = block.begin; row < block.end; ++row, ++i) {
        means[i] += (x.row(row)[0] + model / seen - means[i]) / seen;
        update.dense<double>(0)[0] += means[i];
        update.dense<double>(0)[1] += (means[i] - model) * (means[i] - model);
        update.dense<std::int64_t>(1)[0] += 1;
      }
      attachment_.leave(block);
    }
  }

  learn::Outcome absorb(const exchange::Update& total) override {
    learn::Outcome outcome;
    outcome.objective = total.dense<double>(0)[1];
    const auto count = static_cast<double>(total.dense<std::int64_t>(1)[0]);
    model += 0.7 * (total.dense<double>(0)[0] / count - model);
    if (++rounds == max_iter_) {
      outcome.ending = learn::Ending::kRanOut;
      outcome.because = "max_iter rounds done";
    }
    return outcome;
  }

  std::int64_t rounds_left() const override { return max_iter_ - rounds; }
  learn::State state() const override {
    learn::State state;
    state.learned["model"] = data::tensor_of<double>({&model, 1}, {1});
    state.parameters = {{"max_iter", max_iter_}};
    state.progress = {{"rounds", rounds}};
    return state;
  }
  void restore(const data::SafetensorsFile& file) override {
    model = file.tensor("model").as<double>()[0];
    rounds = base::Json::parse(file.metadata().at("progress")).at("rounds");
  }
  learn::Cost cost(const learn::Shape& shape) const override {
    return {static_cast<double>(shape.rows), static_cast<double>(shape.rows), 24};
  }

 private:
  std::int64_t max_iter_;
  learn::Attachment attachment_;
  const data::Part* part_ = nullptr;
};

}  // namespace meanwhile::job
