#include "meanwhile/learn/belief/calibration.h"

#include <cmath>

#include "meanwhile/base/random.h"
#include "meanwhile/data/files/factors/factor_graph.h"
#include "meanwhile/data/files/factors/factor_rows.h"

namespace meanwhile::learn::belief {

namespace {

// About `rows` factors: a field for each variable, and pairs of neighbours.
data::Dataset grid(std::int64_t rows) {
  const auto side = static_cast<std::int32_t>(std::sqrt(static_cast<double>(rows) / 3)) + 1;
  const base::Random random(1, base::Purpose::kUser, 0, 0);
  std::uint64_t drawn = 0;
  data::FactorGraph graph;
  graph.cards.assign(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), 2);
  const std::vector<std::int32_t> places = {0, 1, 2, 3};
  const auto add = [&](const std::vector<std::int32_t>& scope, std::size_t entries) {
    std::vector<double> table(entries);
    for (double& entry : table) entry = 0.5 + random.uniform(drawn++);
    graph.add(scope, std::span(places).first(entries), table);
  };
  const std::int32_t variables = side * side;
  for (std::int32_t i = 0; i < variables; ++i) {
    add({i}, 2);
    if ((i + 1) % side != 0) add({i, i + 1}, 4);
    if (i + side < variables) add({i, i + side}, 4);
  }
  return data::factor_rows(graph);
}

}  // namespace

std::vector<CalibrationShape> calibration(bool quick) {
  std::vector<CalibrationShape> shapes;
  for (const std::int64_t least : {1 << 12, 1 << 19}) {
    if (quick && !shapes.empty()) continue;
    CalibrationShape& shape = shapes.emplace_back();
    shape.parameters = {{"schedule", "flood"}, {"max_iter", 8}, {"tol", 0}};
    shape.sparse = true;
    shape.cols = 8;
    shape.least_rows = least;
    shape.rows = grid;
  }
  return shapes;
}

}  // namespace meanwhile::learn::belief
