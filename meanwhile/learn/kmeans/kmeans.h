// k-means: Lloyd's algorithm or mini-batches, Euclidean or spherical, on dense or sparse rows.
//
//   learn::kmeans::KMeans kmeans({.n_clusters = 100});
//   job::train(kmeans, data, {.seed = 7});
//   kmeans.model().centers;                       // n_clusters x columns, row-major
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/learn/kmeans/lloyd.h"
#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/learn/kmeans/parameters.h"
#include "meanwhile/learn/kmeans/seeding.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::kmeans {

class KMeans final : public FlatLearner {
 public:
  // THROWS Error(kUsage) when a parameter is out of range.
  explicit KMeans(const Parameters& parameters);

  // Starts from these centres, n_clusters x cols, instead of seeding. `counts`: the weight behind
  // each, for mini-batches that go on; empty: none. REQUIRES: not attached.
  void set_initial_centers(std::vector<double> centers, std::int64_t cols,
                           std::vector<double> counts = {});

  std::string name() const override { return "kmeans"; }
  void attach(const Attachment& attachment) override;
  std::size_t update_size() const override;
  void work(int shard, std::span<double> update) override;
  Outcome absorb(std::span<const double> total) override;
  std::int64_t rounds_left() const override;
  // Mini-batches are drawn as often as asked for.
  bool seeks_convergence() const override {
    return (parameters_.tol > 0 || parameters_.shift_tol > 0) && parameters_.batch_size == 0;
  }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;
  std::vector<Stretch> course(const Shape& shape) const override;

  const Parameters& parameters() const { return parameters_; }
  const Model& model() const { return model_; }

 private:
  // Carried from round to round, besides the model.
  struct Progress {
    std::int64_t trial = 0;   // of starts_
    std::int64_t round = 0;   // of this trial
    std::int64_t rounds = 0;  // of all trials
    bool seeded = false;      // this trial has centres
    std::int64_t far = 0;     // rows a shard reports for empty clusters
    double smoothed = -1;     // mini-batch: inertia a unit of weight, smoothed; < 0: none yet
    double lowest = -1;       // its lowest
    std::int64_t since_lowest = 0;
    Ended ended;  // why training ended, while the score is still to be taken
  };
  struct Best {
    std::vector<double> centers, counts;
    double inertia = 0;
    std::int64_t rounds = 0;
    Ended ended;
  };

  UpdateView view() const;
  std::int64_t rounds_left(std::int64_t starts) const;
  void read_seeding(const data::SafetensorsFile& file, const Json& numbers);
  void start_trial();
  void prepare_round();
  void allow_caches();
  Outcome absorb_seeding(std::span<const double> total);
  Outcome absorb_lloyd(std::span<const double> total);
  Outcome absorb_batch(std::span<const double> total);
  Outcome absorb_score(std::span<const double> total);
  std::span<double> center(std::int64_t k) {
    return {model_.centers.data() + k * model_.cols, static_cast<std::size_t>(model_.cols)};
  }
  std::int64_t relocate(std::span<const double> total, std::int64_t empty,
                        std::vector<double>& shifts);
  double take_drift(const std::vector<double>& shifts);
  Json record(std::span<const double> total, double shift) const;
  std::string converged() const;
  std::string slowed() const;
  void choose_screen(std::span<const double> total);
  Ended ran_out() const;
  void end_training(Ended ended);
  void end_trial(double inertia, Outcome& outcome);

  Parameters parameters_;
  Metric metric_;
  Model model_;
  Progress progress_;
  Best best_;
  bool given_centers_ = false;
  std::int64_t starts_ = 0;             // 0: not known before the rows are
  std::optional<Carried> interrupted_;  // a seeding, until attach() goes on with it

  // While attached.
  Attachment job_;
  Phase phase_ = Phase::kPrepare;
  std::unique_ptr<Seeding> seeding_;
  Round round_;
  std::vector<ShardCache> caches_;
  Spread spread_;
  Screen screen_ = Screen::kFloat32;
};

}  // namespace meanwhile::learn::kmeans
