// L-BFGS, and OWL-QN where there is an L1 penalty, as a machine that is told values and gradients:
// the evaluations are rounds of the job, done elsewhere.
//
//   Nocedal and Wright, "Numerical Optimization", algorithm 7.5
//   Andrew and Gao, "Scalable training of L1-regularized log-linear models" (ICML 2007)
//
// The direction is computed from the inner products of what is remembered (Chen, Wang and Zhou,
// "Large-scale L-BFGS using MapReduce", 2014): two walks over the memory instead of one for each
// remembered pair. Pairs are kept in float32: they only shape the direction.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "meanwhile/base/parallel.h"

namespace meanwhile::learn::linear {

class Lbfgs {
 public:
  struct Pair {
    std::vector<float> s, y;  // steps between points, and between gradients
  };
  // The state that is carried from one evaluation to the next.
  struct Memory {
    std::vector<double> x, g, d;  // the best point so far, its gradient, the direction tried
    double f = 0, t = 0;          // value at x (L1 included), length of the step tried
    int tries = 0;                // of lengths on this direction
    bool started = false;         // f and g are known
    std::deque<Pair> pairs;
    std::vector<double> guess;  // the direction to try first where it leads down; empty: none
  };

  Lbfgs() = default;
  // Begins at x. `scale`: a guess of the inverse of the diagonal of the Hessian, positive. `l1`:
  // the penalty of each |x_i|, or empty. Both borrowed.
  Lbfgs(std::vector<double> x, std::span<const double> scale, std::span<const double> l1,
        std::size_t history);
  // A step that may lead near the optimum, such as one that did so before. Before the first tell().
  void guess(std::vector<double> step) { memory_.guess = std::move(step); }
  // Goes on from what memory() gave.
  Lbfgs(Memory memory, std::span<const double> scale, std::span<const double> l1,
        std::size_t history, base::ThreadPool& pool);

  // The function has changed a little: its value at the best point so far is asked for again, and
  // what was learned of its shape is kept.
  void begin_again();

  enum class Verdict { kBetter, kShorter, kStuck };
  // Told value and gradient (both without L1) at point(), moves on to the next point: kBetter, from
  // there; kShorter, the step was too long; kStuck, no step helps, and point() is the best one.
  // The result does not depend on the threads of `pool`.
  Verdict tell(double f, std::vector<double> g, base::ThreadPool& pool);

  // The point to be evaluated next.
  std::span<const double> point() const { return point_; }
  // The best value so far, L1 included.
  double value() const { return memory_.f; }
  const Memory& memory() const { return memory_; }

 private:
  double penalty(std::span<const double> x, base::ThreadPool& pool) const;
  // -1, 0, 1: the orthant that x_i stays in for the next step.
  double orthant(std::size_t i) const;
  double pseudo_gradient(std::size_t i) const;
  void remember(std::span<const double> g, base::ThreadPool& pool);
  void multiply(std::size_t newest, base::ThreadPool& pool);
  void choose_direction(base::ThreadPool& pool);
  bool takes_guess(base::ThreadPool& pool);
  void step(base::ThreadPool& pool);

  Memory memory_;
  std::span<const double> scale_, l1_;
  std::size_t history_ = 10;
  std::vector<double> point_;
  std::vector<double> slope_;  // scratch: its memory is kept
  // For the first known_ pairs: sy_[a][b] = s_a . y_b, yy_[a][b] = y_a . scale y_b.
  std::vector<std::vector<double>> sy_, yy_;
  std::size_t known_ = 0;
};

}  // namespace meanwhile::learn::linear
