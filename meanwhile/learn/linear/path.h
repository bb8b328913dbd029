// A path of penalties: from the one that leaves no weight down to a part of it, evenly in
// logarithm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::linear {

// Facts of the model of one penalty.
struct PathPoint {
  double l1 = 0, objective = 0, gap = 0;
  std::int64_t nonzeros = 0, rounds = 0;  // rounds: since the path began
  double held_out_loss = -1;              // below 0: no rows are held out
  std::optional<double> held_out_accuracy = std::nullopt;
};

// Penalty `i` of `count`. REQUIRES: 0 <= i < count, count >= 2.
double path_penalty(double largest, double ratio, std::int64_t count, std::size_t i);

// The point with the lowest held-out loss, the first of equal ones; without held-out rows the
// last. REQUIRES: not empty.
std::size_t chosen_point(const std::vector<PathPoint>& path);

Json path_json(const std::vector<PathPoint>& path);
// THROWS nlohmann::json::exception for what is none.
std::vector<PathPoint> path_from_json(const Json& json);

}  // namespace meanwhile::learn::linear
