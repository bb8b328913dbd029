#include "meanwhile/learn/graph/calibration.h"

#include <bit>

#include "meanwhile/graph/generate.h"
#include "meanwhile/graph/graph.h"

namespace meanwhile::learn::graph {

std::vector<CalibrationShape> graph_calibration(const Json& parameters, bool quick) {
  constexpr std::int64_t kSmall = 1 << 12, kLarge = 1 << 18;
  std::vector<CalibrationShape> shapes;
  for (const std::int64_t least : {kSmall, kLarge}) {
    if (quick && least == kLarge) continue;
    CalibrationShape& shape = shapes.emplace_back();
    shape.parameters = parameters;
    shape.sparse = true;
    shape.cols = 16;
    shape.least_rows = least;
    shape.rows = [](std::int64_t rows) {
      const auto scale = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))) - 1;
      meanwhile::graph::BuildOptions options;
      options.loops = meanwhile::graph::Loops::kDrop;
      return meanwhile::graph::build(meanwhile::graph::kronecker(scale, 16, 1, 1), options).data;
    };
  }
  return shapes;
}

}  // namespace meanwhile::learn::graph
