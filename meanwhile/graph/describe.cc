#include "meanwhile/graph/describe.h"

#include <algorithm>

#include "meanwhile/graph/cut.h"
#include "meanwhile/graph/graph.h"
#include "meanwhile/graph/histogram.h"

namespace meanwhile::graph {

namespace {

using base::Json;

Json cuts(const data::Sparse<float>& rows, const Histogram& histogram) {
  const std::int64_t edges = rows.row_start[rows.rows];
  const std::int64_t owned = most_owned(histogram, rows.cols == rows.rows ? 1 : 2);
  Json list = Json::array();
  for (const int shards : {2, 4, 8, 16, 32, 64}) {
    const CutFacts facts =
        count_copies(rows, cut({rows.row_start, static_cast<std::size_t>(rows.rows) + 1}, shards));
    list.push_back(
        {{"shards", shards},
         {"copies", facts.copies},
         {"most_edges", facts.most_edges},
         {"predicted_copies", owner_copies(histogram, shards)},
         {"predicted_most_edges", std::min(edges, (edges + shards - 1) / shards + owned)},
         {"random_copies", random_copies(histogram, shards)}});
  }
  return list;
}

}  // namespace

Json describe(const data::Sparse<float>& rows) {
  const Degrees found = degrees(rows);
  // Neighbours, whichever way edges point.
  std::vector<std::int64_t> degree(found.out.begin(), found.out.end());
  for (std::size_t v = 0; v < found.in.size(); ++v) degree[v] += found.in[v];
  std::int64_t largest = 0, loops = 0;
  bool weighted = false;
  for (const std::int64_t d : degree) largest = std::max(largest, d);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const auto row = rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      loops += row.columns[k] == i || row.columns[k] == rows.rows + i;
      weighted |= row.values[k] != 1;
    }
  }
  const Histogram histogram = histogram_of(degree);
  Json counts = Json::array();
  for (const DegreeCount& count : histogram) counts.push_back({count.degree, count.vertices});
  const bool alone = !histogram.empty() && histogram.front().degree == 0;
  const std::int64_t edges = rows.row_start[rows.rows];
  Json json = {
      {"vertices", rows.rows},
      {"edges", edges},
      {"directed", rows.cols != rows.rows},
      {"weighted", weighted},
      {"loops", loops},
      {"vertices_without_edges", alone ? histogram.front().vertices : 0},
      {"mean_degree",
       rows.rows == 0 ? 0 : 2.0 * static_cast<double>(edges) / static_cast<double>(rows.rows)},
      {"largest_degree", largest}};
  json["degrees"] = std::move(counts);
  json["cuts"] = cuts(rows, histogram);
  return json;
}

}  // namespace meanwhile::graph
