#include "meanwhile/learn/linear/late_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "meanwhile/learn/linear/state_tensors.h"

namespace meanwhile::learn::linear {

namespace {

constexpr double kKept = 0.5;  // of a secant, each round

}  // namespace

void LateSteps::step(std::span<const double> before, std::span<double> w) {
  const std::size_t size = w.size();
  if (read_.empty()) {
    // The first two rounds read the first model.
    read_.assign(before.begin(), before.end());
    for (std::vector<double>* each : {&change_, &move_, &pull_, &size_}) each->assign(size, 0.0);
  }
  const bool known = std::any_of(change_.begin(), change_.end(), [](double d) { return d != 0; });
  for (std::size_t i = 0; i < size; ++i) {
    const double move = w[i] - before[i], last = before[i] - read_[i];
    double back = kFirst;
    if (known) {
      pull_[i] = kKept * pull_[i] - (move - move_[i]) * change_[i];
      size_[i] = kKept * size_[i] + change_[i] * change_[i];
      const double part = size_[i] > 0 ? std::clamp(pull_[i] / size_[i], 0.0, 1.0) : 0;
      back = std::max(0.0, 2 * std::sqrt(part) - 1);
    }
    w[i] -= back * last;
    move_[i] = move;
    change_[i] = last;
    read_[i] = before[i];
  }
}

void LateSteps::save(State& state) const {
  carry(state, "late_read", read_);
  carry(state, "late_change", change_);
  carry(state, "late_move", move_);
  carry(state, "late_pull", pull_);
  carry(state, "late_size", size_);
}

void LateSteps::load(const data::SafetensorsFile& file, std::size_t size) {
  read_ = carried<double>(file, "late_read", size);
  // All of them or none: a file that lacks some begins again.
  for (const auto& [name, to] : {std::pair("late_change", &change_), std::pair("late_move", &move_),
                                 std::pair("late_pull", &pull_), std::pair("late_size", &size_)}) {
    *to = carried<double>(file, name, size);
    if (to->empty()) read_.clear();
  }
}

}  // namespace meanwhile::learn::linear
