#include "meanwhile/learn/linear/path.h"

#include <cmath>

namespace meanwhile::learn::linear {

double path_penalty(double largest, double ratio, std::int64_t count, std::size_t i) {
  return largest * std::pow(ratio, static_cast<double>(i) / static_cast<double>(count - 1));
}

std::size_t chosen_point(const std::vector<PathPoint>& path) {
  std::size_t chosen = path.size() - 1;
  for (std::size_t i = path.size(); i-- > 0;) {
    const double loss = path[i].held_out_loss;
    if (loss >= 0 && loss <= path[chosen].held_out_loss) chosen = i;
  }
  return chosen;
}

Json path_json(const std::vector<PathPoint>& path) {
  Json json = Json::array();
  for (const PathPoint& point : path) {
    Json& row = json.emplace_back(Json{{"l1", point.l1},
                                       {"objective", point.objective},
                                       {"gap", point.gap},
                                       {"nonzeros", point.nonzeros},
                                       {"rounds", point.rounds}});
    if (point.held_out_loss >= 0) row["held_out_loss"] = point.held_out_loss;
    if (point.held_out_accuracy) row["held_out_accuracy"] = *point.held_out_accuracy;
  }
  return json;
}

std::vector<PathPoint> path_from_json(const Json& json) {
  std::vector<PathPoint> path;
  for (const Json& row : json) {
    PathPoint& point = path.emplace_back();
    row.at("l1").get_to(point.l1);
    row.at("objective").get_to(point.objective);
    row.at("gap").get_to(point.gap);
    row.at("nonzeros").get_to(point.nonzeros);
    row.at("rounds").get_to(point.rounds);
    point.held_out_loss = row.value("held_out_loss", -1.0);
    if (row.contains("held_out_accuracy")) {
      point.held_out_accuracy = row.at("held_out_accuracy").get<double>();
    }
  }
  return path;
}

}  // namespace meanwhile::learn::linear
