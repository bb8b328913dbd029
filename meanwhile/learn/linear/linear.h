// Linear models: support vector machines, logistic regression, linear regression, by averaged SGD,
// by SGD on summed gradients, by L-BFGS, or by the first and then the last (doc/linear.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/learn/linear/gradient.h"
#include "meanwhile/learn/linear/lbfgs.h"
#include "meanwhile/learn/linear/parameters.h"
#include "meanwhile/learn/linear/problem.h"
#include "meanwhile/learn/linear/sgd.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::linear {

// What a round is for; a job goes through them from top to bottom, leaving out what it has no use
// for.
// Averaging models pays where a pass has so many rows of each column to learn from.
inline constexpr double kRowsForAveraging = 4;

enum class Stage { kStatistics, kRate, kModel, kGradient, kLbfgs, kScore };

class Linear final : public FlatLearner {
 public:
  // THROWS Error(kUsage).
  Linear(Kind kind, Parameters parameters);
  ~Linear() override;

  // Starts from the model in `file` on whatever data it is attached to; SGD goes on with the rate
  // it had come to. Before attach(). THROWS Error(kInput) when the file holds no such model.
  void start_from(const data::SafetensorsFile& file);

  std::string name() const override { return to_string(kind_); }
  void attach(const Attachment& attachment) override;
  std::size_t update_size() const override;
  void work(int shard, std::span<double> update) override;
  Outcome absorb(std::span<const double> total) override;
  std::int64_t rounds_left() const override;
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;
  std::vector<Stretch> course(const Shape& shape) const override;

  // Weights for D columns by C outputs, then C intercepts.
  std::span<const double> weights() const { return w_; }
  const Problem& problem() const { return problem_; }

 private:
  // All that changes from round to round and is not a vector: in the file as JSON, by describe().
  struct Progress {
    std::string stage = "statistics";
    std::int64_t round = 0, stage_round = 0;
    double rows = 0, weight = 0, mean_weight = 1, mean_square = 1;
    double rate = 0, delta = 0, smoothing = 0;
    double seen = 0;                                 // rows that SGD has stepped on, of all shards
    double initial = -1, last = -1, stage_end = -1;  // objectives
    double best_held_out = -1;
    std::int64_t since_best = 0, retreats = 0;
    std::int64_t retreating = 0;  // retreats in a row
    std::vector<double> recent;   // objectives of the last rounds
    Ended ended;
    std::string ended_in;
  };
  template <class P, class Visit>
  static void describe_progress(P& p, Visit&& visit);

  // The last numbers of an update, of every round that looks at losses.
  struct Tail;

  Stage stage() const;
  void enter(Stage stage);
  bool uses_moments() const;
  void settle_problem(const Attachment& attachment);
  void settle_weights();      // of classes, from the statistics
  void settle_coordinates();  // of SGD, and the preconditioner of L-BFGS, from the moments
  // Of each column: the second, and the first where columns are centred or deviations asked for.
  std::size_t moments_each() const {
    return parameters_.fit_intercept || parameters_.standardize ? 2 : 1;
  }
  double second(std::size_t column) const { return moments_[moments_each() * column]; }
  double mean(std::size_t column) const {
    return moments_each() == 2 ? moments_[2 * column + 1] : 0;
  }
  double initial_objective(double mean_square, double deviation) const;
  double mean_square() const;
  double penalty() const;
  double penalty_of(std::size_t column) const;  // multiplies l1, and squared l2
  SgdOptions sgd_options() const;
  void score_held_out(int shard, Tail& tail) const;
  void work_statistics(int shard, std::span<double> update) const;
  void work_rate(int shard, std::span<double> update) const;
  // The loss on a sample after a few steps on sampled gradients.
  LossSums try_gradients(int shard, double rate) const;
  void work_model(int shard, std::span<double> update) const;
  void work_gradient(int shard, std::span<double> update) const;

  Outcome absorbed(std::span<const double> total);
  void narrow();  // makes narrow_ from w_
  Json chosen() const;
  void absorb_statistics(std::span<const double> total);
  void absorb_rate(std::span<const double> total);
  void absorb_model(std::span<const double> total);
  void absorb_gradient(std::span<const double> total, const Tail& tail);
  void gradient_step(std::span<const double> total, double weight, double t, double rate,
                     std::span<double> w, std::span<double> squares) const;
  void absorb_lbfgs(std::span<const double> total, const Tail& tail, Outcome& outcome);
  void begin_lbfgs();
  std::vector<double> lbfgs_point() const;          // of w_
  void leave_lbfgs(std::span<const double> point);  // sets w_
  void retreat(double objective);
  bool still_falls(double objective);
  bool still_moves();
  void after_sgd(double objective, Outcome& outcome);
  void end(Outcome& outcome, Ending ending, const std::string& because);
  void look_at_held_out(const Tail& tail, Outcome& outcome);

  const Kind kind_;
  const Parameters parameters_;
  Attachment job_;
  std::unique_ptr<base::ThreadPool> own_pool_;  // where none was given
  Problem problem_;
  std::unique_ptr<Examples> examples_, eval_;
  std::vector<std::string> class_names_, feature_names_;
  bool dense_ = false;
  int busy_shards_ = 0;  // that have rows

  Progress progress_;
  bool done_ = false;                    // nothing is left to absorb
  std::vector<double> w_;                // as in Problem: the shared model
  std::vector<float> narrow_;            // the same, for passes of L-BFGS that go by it
  std::vector<double> moments_;          // second and first, of the columns, side by side
  std::vector<double> class_sums_;       // sample weights by class
  std::vector<double> squares_;          // of slopes, where rates are adaptive
  std::vector<double> mean_w_;           // Polyak's, where gradients are sent
  std::vector<double> best_w_;           // by held-out loss
  std::vector<double> before_;           // the model one round ago, to go back to
  std::vector<double> last_w_;           // where max_iter ended it: what is not the model, but next
  std::vector<double> initial_classes_;  // of the model to start from
  std::vector<std::string> initial_names_;
  Coordinates coordinates_;  // of SGD
  std::vector<double> lbfgs_scale_, lbfgs_l1_;
  std::optional<Lbfgs> lbfgs_;
  std::optional<Lbfgs::Memory> restored_;  // until attach()
};

}  // namespace meanwhile::learn::linear
