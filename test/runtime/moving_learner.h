// A learner whose model is a sum of moves (learn/moves.h): two rounds of preparation, rounds of
// moves, and a round of scoring. What a shard does depends on the model that it looks at, on the
// round, and on a number that every round settles.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/fresh.h"
#include "meanwhile/learn/replayed.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::runtime {

struct MovingParameters {
  std::int64_t max_iter = 10;
  std::int64_t ends_after = 0;  // this round is the last of the moves; 0: max_iter
  bool score = true;
};

class MovingLearner final : public learn::RoundLearner, private learn::Moves {
 public:
  explicit MovingLearner(const MovingParameters& parameters) : parameters_(parameters) {}

  std::function<void()> on_work;

  std::string name() const override { return "moving"; }
  std::int64_t rounds_left() const override { return parameters_.max_iter - rounds_; }
  learn::Cost cost(const learn::Shape&) const override { return {}; }

  void attach(const learn::Attachment& to) override {
    part_ = to.part;
    model_.resize(static_cast<std::size_t>(data::cols(part_->data.x)), 0);
  }
  exchange::UpdateShape update_shape() const override { return {{.rows = std::ssize(model_) + 1}}; }
  void work(int shard, learn::ShardMemory&, exchange::Update& update) override {
    if (on_work) on_work();
    const std::span<double> to = update.dense<double>(0);
    to.back() = add_rows(shard, to.first(model_.size()));
  }
  learn::Outcome absorb(const exchange::Update& total) override {
    learn::Outcome outcome;
    const std::span<const double> sums = total.dense<double>(0);
    outcome.objective = sums[0];
    if (prepared_ < 2) {
      ++prepared_;
      outcome.phase = learn::Phase::kPrepare;
      for (std::size_t j = 0; j < model_.size(); ++j) model_[j] += 0.1 * sums[j] / sums.back();
      return outcome;
    }
    outcome.phase = learn::Phase::kScore;
    outcome.ending = learn::Ending::kRanOut;
    outcome.because = "all rounds done";
    return outcome;
  }
  learn::Moves* moves() override {
    return prepared_ == 2 && !ended_ ? static_cast<learn::Moves*>(this) : nullptr;
  }
  void set_ahead(int rounds) override { ahead_ = rounds; }

  learn::State state() const override {
    learn::State state;
    const std::vector<std::int64_t> shape = {std::ssize(model_)};
    state.learned["model"] = data::tensor_of<double>(model_, shape);
    state.parameters = {{"max_iter", parameters_.max_iter}};
    state.progress = {
        {"prepared", prepared_}, {"rounds", rounds_}, {"scale", scale_}, {"ended", ended_}};
    return state;
  }
  void restore(const data::SafetensorsFile& file) override {
    const auto learned = file.tensor("model").as<double>();
    model_.assign(learned.begin(), learned.end());
    const auto progress = base::Json::parse(file.metadata().at("progress"));
    prepared_ = progress.at("prepared"), rounds_ = progress.at("rounds");
    scale_ = progress.at("scale"), ended_ = progress.at("ended");
  }

 private:
  // Adds the rows of the shard; returns how many there are.
  double add_rows(int shard, std::span<double> to) const {
    const auto& x = std::get<data::Dense<float>>(part_->data.x);
    double rows = 0;
    for (const data::RowRange& block : part_->shards[static_cast<std::size_t>(shard)].blocks) {
      for (std::int64_t i = block.begin; i < block.end; ++i, ++rows) {
        for (std::size_t j = 0; j < to.size(); ++j) to[j] += x.row(i)[j];
      }
    }
    return rows;
  }

  std::size_t size() const override { return model_.size(); }
  std::size_t summary_size() const override { return 2; }
  void begin() override { first_ = model_; }
  void work(int shard, std::span<double> move, std::span<double> summary) const override {
    if (on_work) on_work();
    const double rows = add_rows(shard, move);
    const double step = 0.3 * scale_ / static_cast<double>(1 + rounds_ + ahead_);
    for (std::size_t j = 0; j < move.size(); ++j) {
      const double way = rows > 0 ? move[j] / rows - model_[j] : 0;
      summary[0] += way * way;
      move[j] = step * way;
    }
    summary[1] += rows;
  }
  void look(std::span<const std::int64_t> moved, double unit) override {
    for (std::size_t j = 0; j < model_.size(); ++j) {
      model_[j] = first_[j] + static_cast<double>(moved[j]) * unit;
    }
  }
  learn::Outcome settle(std::span<const double> summary) override {
    learn::Outcome outcome;
    outcome.objective = summary[0];
    scale_ = 1 + 0.5 / (1 + summary[0] / (1 + summary[1]));
    ++rounds_;
    if (rounds_ < parameters_.max_iter && rounds_ != parameters_.ends_after) return outcome;
    ended_ = true;
    if (parameters_.score) return outcome;
    outcome.ending = learn::Ending::kConverged;
    outcome.because = "it converged";
    return outcome;
  }

  const MovingParameters parameters_;
  const data::Part* part_ = nullptr;
  std::vector<double> model_, first_;
  std::int64_t prepared_ = 0, rounds_ = 0;
  double scale_ = 1;
  bool ended_ = false;
  int ahead_ = 0;
};

// The model that a record gives on threads.
inline std::string replayed_model(const MovingParameters& parameters, const data::Part& part,
                                  std::uint64_t seed, std::span<const std::byte> record) {
  const auto log = std::make_shared<const tables::ReadsLog>(
      tables::ReadsLog::read(record, "the record of reads"));
  const auto make = [=](const learn::State& of) -> std::unique_ptr<learn::RoundLearner> {
    auto learner = std::make_unique<MovingLearner>(parameters);
    const job::StateFile file = job::state_file(of, 0, "");
    const auto bytes = data::safetensors_bytes(file.tensors, file.metadata);
    learner->restore(data::SafetensorsFile(bytes, "state"));
    return learner;
  };
  learn::ReplayedLearner learner(std::make_unique<MovingLearner>(parameters), log, make);
  job::TrainOptions options;
  options.threads = 2;
  options.seed = seed;
  return job::train(learner, part, options).model_sha256;
}

}  // namespace meanwhile::runtime
