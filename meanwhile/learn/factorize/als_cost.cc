// Cost of alternating least squares, from the shape of the data alone.
#include <algorithm>

#include "meanwhile/learn/factorize/als.h"

namespace meanwhile::learn::factorize {

namespace {

constexpr double kLine = 64;  // bytes

}  // namespace

// A round of training is the mean of a pass: one that solves users, and its rounds for items.
Cost Als::cost(const Shape& shape) const {
  const auto width = static_cast<double>(width_), n = static_cast<double>(numbers());
  const auto stored = static_cast<double>(shape.stored);
  const auto U = static_cast<double>(shape.rows), I = static_cast<double>(shape.cols);
  const auto steps = static_cast<double>(parameters_.cg_steps);
  const double gram = is_explicit() ? 0 : 2 * width * width;
  Cost cost;
  cost.kernel = "als";
  cost.outputs = width;
  const double rounds = 1 + (is_exact() ? 1 : steps);
  if (is_exact()) {
    const double packed = n * (n + 1);
    cost.flops = 2 * stored * packed + (U + I) * n * n * n / 3;
    cost.update_bytes = (4 * U * n + 8 * I * packed / 2) / rounds;
  } else {
    const double passes = steps + 1;
    cost.flops = passes * (8 * stored * width + gram * (U + I));
    cost.update_bytes = (4 * U * n + passes * 4 * I * n) / rounds;
  }
  cost.flops /= rounds;
  cost.bytes_read = 2 * stored * (8 + kLine);
  cost.absorb_bytes = 5 * 4 * I * width;
  return cost;
}

std::vector<Stretch> Als::course(const Shape& shape) const {
  std::vector<Stretch> course;
  const Cost round = cost(shape);
  Cost look;
  look.kernel = round.kernel;
  look.outputs = round.outputs;
  look.flops = 2 * static_cast<double>(shape.stored);
  look.bytes_read = 8 * static_cast<double>(shape.stored);
  look.update_bytes = 8 * static_cast<double>(shape.cols);
  if (progress_.phase == AlsPhase::kFacts) course.push_back({Phase::kPrepare, 1, look});
  course.push_back({Phase::kTrain, static_cast<double>(rounds_left()), round});
  look.flops = 2 * static_cast<double>(shape.stored) * static_cast<double>(width_);
  look.update_bytes = 16;
  course.push_back({Phase::kScore, 1, look});
  return course;
}

}  // namespace meanwhile::learn::factorize
