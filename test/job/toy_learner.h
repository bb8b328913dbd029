// A learner small enough to check by hand: the column means, by gradient steps with momentum. It
// seeds for a few rounds, trains, and scores once, so that the loop meets every phase.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/error.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::job {

struct ToyParameters {
  std::int64_t max_iter = 10;
  std::int64_t seed_steps = 3;
  double learning_rate = 0.2;
  bool score = true;
  bool lags = false;                // rounds of training may read an older model
  std::int64_t restarts_after = 0;  // this round goes back to a model of zeros; 0: none
  std::int64_t ends_after = 0;      // this round is the last, as if it had converged; 0: none
};

class ToyLearner final : public learn::FlatLearner {
 public:
  explicit ToyLearner(const ToyParameters& parameters) : parameters_(parameters) {}

  // Called in work() before anything else, with the round (from 1) and the shard.
  std::function<void(std::int64_t round, int shard)> on_work;
  learn::Attachment attachment;
  std::vector<double> mean, momentum;
  std::int64_t seeded = 0, rounds = 0;
  std::atomic<std::int64_t> rows_worked = 0;
  int lag = 0;  // max_lag() of all rounds; 0: as the parameters say
  std::string name() const override { return "toy"; }

  void attach(const learn::Attachment& to) override {
    attachment = to;
    const auto cols = static_cast<std::size_t>(data::cols(to.part->data.x));
    if (mean.empty()) mean.assign(cols, 0), momentum.assign(cols, 0);
    if (mean.size() != cols) throw base::Error(base::ErrorKind::kInput, "other columns");
  }

  // Per column the sum of x - mean; then the sum of squares, and the rows.
  std::size_t update_size() const override { return mean.size() + 2; }

  void work(int shard, std::span<double> update) override {
    if (on_work) on_work(rounds + ahead_ + 1, shard);
    const auto& x = std::get<data::Dense<float>>(attachment.part->data.x);
    for (const data::RowRange& block :
         attachment.part->shards[static_cast<std::size_t>(shard)].blocks) {
      for (std::int64_t i = block.begin; i < block.end; ++i) {
        for (std::size_t j = 0; j < mean.size(); ++j) {
          const double difference = x.row(i)[j] - mean[j];
          update[j] += difference;
          update[mean.size()] += difference * difference;
        }
        update[mean.size() + 1] += 1;
      }
      rows_worked += block.end - block.begin;
      attachment.leave(block);
    }
  }

  learn::Outcome absorb(std::span<const double> total) override {
    learn::Outcome outcome;
    if (seeded < parameters_.seed_steps) {
      ++seeded;
      outcome.phase = learn::Phase::kPrepare;
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += 0.125 * static_cast<double>(seeded);
      return outcome;
    }
    outcome.objective = total[mean.size()];
    if (rounds < parameters_.max_iter) {
      ++rounds;
      for (std::size_t j = 0; j < mean.size(); ++j) {
        momentum[j] = 0.5 * momentum[j] + total[j] / total[mean.size() + 1];
        mean[j] += parameters_.learning_rate * momentum[j];
      }
      outcome.record["first_mean"] = mean[0];
      if (rounds == parameters_.restarts_after) {
        mean.assign(mean.size(), 0), momentum.assign(mean.size(), 0);
        outcome.restarted = true;
      }
      if (rounds == parameters_.ends_after) {
        outcome.ending = learn::Ending::kConverged;
        outcome.because = "it converged";
        return outcome;
      }
      if (rounds < parameters_.max_iter || parameters_.score) return outcome;
    } else {
      outcome.phase = learn::Phase::kScore;
    }
    outcome.ending = learn::Ending::kRanOut;
    outcome.because = "max_iter rounds done";
    return outcome;
  }

  int max_lag() const override {
    const bool trains = seeded == parameters_.seed_steps && rounds < parameters_.max_iter;
    if (lag > 0) return lag;
    return parameters_.lags && trains ? learn::kAnyLag : 0;
  }
  void set_ahead(int count) override { ahead_ = count; }

  std::int64_t rounds_left() const override { return parameters_.max_iter - rounds; }

  learn::State state() const override {
    learn::State state;
    const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(mean.size())};
    state.learned["mean"] = data::tensor_of<double>(mean, shape);
    state.carried["momentum"] = data::tensor_of<double>(momentum, shape);
    state.parameters = {{"max_iter", parameters_.max_iter}};
    state.progress = {{"seeded", seeded}, {"rounds", rounds}};
    return state;
  }

  void restore(const data::SafetensorsFile& file) override {
    const auto learned = file.tensor("mean").as<double>();
    const auto carried = file.tensor("carried/momentum").as<double>();
    mean.assign(learned.begin(), learned.end());
    momentum.assign(carried.begin(), carried.end());
    const auto progress = base::Json::parse(file.metadata().at("progress"));
    seeded = progress.at("seeded");
    rounds = progress.at("rounds");
  }

  learn::Cost cost(const learn::Shape& shape) const override {
    return {4.0 * static_cast<double>(shape.stored), 4.0 * static_cast<double>(shape.stored),
            8.0 * static_cast<double>(shape.cols + 2)};
  }

 private:
  ToyParameters parameters_;
  int ahead_ = 0;
};

// `rows` x `cols` numbers without a pattern, in memory of their own.
inline data::Dataset toy_data(std::int64_t rows, std::int64_t cols) {
  base::Buffer<float> values(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 2654435761u) % 10007) / 97.0f;
  }
  data::Dataset data;
  const auto view = data::own(data, std::move(values));
  data.x = data::Dense<float>{view.data(), rows, cols};
  return data;
}

// A path that does not exist, for this test alone.
inline std::filesystem::path fresh_path(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) /
                                     (std::string(test->test_suite_name()) + "." + test->name() +
                                      "." + std::to_string(::getpid())) /
                                     name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path.parent_path());
  return path;
}

}  // namespace meanwhile::job
