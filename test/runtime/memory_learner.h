// A learner with shard memory, small enough to check by hand: each row remembers the running mean
// of its own scores, and the update is the sum of rows weighted by what they remember. A shard that
// forgets, or works twice on a round, gives other bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::runtime {

class MemoryLearner final : public learn::RoundLearner {
 public:
  explicit MemoryLearner(std::int64_t max_iter) : max_iter_(max_iter) {}

  std::function<void()> on_work;

  std::string name() const override { return "toy"; }
  void attach(const learn::Attachment& to) override {
    attachment_ = to;
    const auto cols = static_cast<std::size_t>(data::cols(to.part->data.x));
    if (model_.empty()) model_.assign(cols, 1);
  }
  exchange::UpdateShape update_shape() const override {
    return {{.rows = static_cast<std::int64_t>(model_.size() + 1)}};
  }
  learn::MemoryShape memory_shape(int shard) const override {
    // Known of shards that are held, as the contract has it.
    std::int64_t rows = 0;
    for (const data::RowRange& block :
         attachment_.part->shards[static_cast<std::size_t>(shard)].blocks) {
      rows += block.end - block.begin;
    }
    return {{"history", "F64", {rows}}, {"rounds", "I64", {1}}};
  }
  void work(int shard, learn::ShardMemory& memory, exchange::Update& update) override {
    if (on_work) on_work();
    const auto& x = std::get<data::Dense<float>>(attachment_.part->data.x);
    const std::span<double> history = memory.tensor<double>("history");
    std::int64_t& rounds = memory.tensor<std::int64_t>("rounds")[0];
    const std::span<double> sums = update.dense<double>(0);
    std::size_t k = 0;
    for (const data::RowRange& block :
         attachment_.part->shards[static_cast<std::size_t>(shard)].blocks) {
      for (std::int64_t i = block.begin; i < block.end; ++i, ++k) {
        double score = 0;
        for (std::size_t j = 0; j < model_.size(); ++j) score += x.row(i)[j] * model_[j];
        history[k] += (std::tanh(score) - history[k]) / static_cast<double>(rounds + 1);
        for (std::size_t j = 0; j < model_.size(); ++j) sums[j] += history[k] * x.row(i)[j];
        sums[model_.size()] += history[k] * history[k];
      }
    }
    ++rounds;
  }
  learn::Outcome absorb(const exchange::Update& total) override {
    const std::span<const double> sums = total.dense<double>(0);
    for (std::size_t j = 0; j < model_.size(); ++j) model_[j] = 0.7 * model_[j] + 0.01 * sums[j];
    ++rounds_;
    learn::Outcome outcome;
    outcome.objective = sums[model_.size()];
    if (rounds_ == max_iter_) {
      outcome.ending = learn::Ending::kRanOut;
      outcome.because = "max_iter rounds done";
    }
    return outcome;
  }
  std::int64_t rounds_left() const override { return max_iter_ - rounds_; }
  learn::State state() const override {
    learn::State state;
    state.learned["model"] =
        data::tensor_of<double>(model_, {static_cast<std::int64_t>(model_.size())});
    state.parameters = base::Json::object();
    state.progress = {{"rounds", rounds_}};
    return state;
  }
  void restore(const data::SafetensorsFile& file) override {
    const auto model = file.tensor("model").as<double>();
    model_.assign(model.begin(), model.end());
    rounds_ = base::Json::parse(file.metadata().at("progress")).at("rounds");
  }
  learn::Cost cost(const learn::Shape&) const override { return {}; }

 private:
  const std::int64_t max_iter_;
  learn::Attachment attachment_;
  std::vector<double> model_;
  std::int64_t rounds_ = 0;
};

// SHA-256 of the model and of the memory of each shard.
struct MemoryModel {
  std::string model;
  std::vector<std::string> memory;
};

// The model after all rounds, shard after shard on one thread.
inline MemoryModel serial_memory_model(const data::Part& part, std::int64_t max_iter) {
  MemoryLearner learner(max_iter);
  learner.attach({&part, nullptr, 0, false, nullptr});
  std::vector<learn::ShardMemory> memories;
  const int shards = static_cast<int>(part.shards.size());
  for (int shard = 0; shard < shards; ++shard) memories.emplace_back(learner.memory_shape(shard));
  for (bool done = false; !done;) {
    exchange::OrderedSum sum(shards, learner.update_shape());
    for (int shard = 0; shard < shards; ++shard) {
      exchange::Update update(learner.update_shape());
      learner.work(shard, memories[static_cast<std::size_t>(shard)], update);
      sum.give(shard, std::move(update));
    }
    done = learner.absorb(sum.total()).done();
  }
  MemoryModel result{data::sha256(learner.state().learned), {}};
  for (const learn::ShardMemory& memory : memories) {
    result.memory.push_back(data::sha256(memory.tensors()));
  }
  return result;
}

}  // namespace meanwhile::runtime
