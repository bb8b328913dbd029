#include "meanwhile/graph/numbering.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "meanwhile/base/error.h"

namespace meanwhile::graph {

namespace {

using base::Error;
using base::ErrorKind;
using data::Edges;

constexpr std::int64_t kMostVertices = std::int64_t{1}
                                       << 30;  // twice as many columns fit in 31 bits

void check_count(std::int64_t vertices) {
  if (vertices <= kMostVertices) return;
  throw Error(ErrorKind::kInput, "has {} vertices, at most {} are read", vertices, kMostVertices);
}

// Ids that lie close together are found by a mark for each that there could be.
Numbering number_by_marks(Edges& edges, std::int64_t most) {
  std::vector<std::uint32_t> number(static_cast<std::size_t>(most) + 1);
  for (const auto* ends : {&edges.from, &edges.to}) {
    for (const std::int64_t id : *ends) number[static_cast<std::size_t>(id)] = 1;
  }
  Numbering numbering;
  for (std::size_t id = 0; id < number.size(); ++id) {
    if (number[id] == 0) continue;
    number[id] = static_cast<std::uint32_t>(numbering.ids.size());
    numbering.ids.push_back(static_cast<std::int64_t>(id));
  }
  numbering.vertices = static_cast<std::int64_t>(numbering.ids.size());
  check_count(numbering.vertices);
  if (numbering.vertices == most + 1) numbering.ids.clear();
  for (auto* ends : {&edges.from, &edges.to}) {
    for (std::int64_t& id : ends->span()) id = number[static_cast<std::size_t>(id)];
  }
  return numbering;
}

Numbering number_by_order(Edges& edges) {
  Numbering numbering;
  auto& ids = numbering.ids;
  ids.assign(edges.from.begin(), edges.from.end());
  ids.insert(ids.end(), edges.to.begin(), edges.to.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  numbering.vertices = static_cast<std::int64_t>(ids.size());
  check_count(numbering.vertices);
  for (auto* ends : {&edges.from, &edges.to}) {
    for (std::int64_t& id : ends->span()) {
      id = std::lower_bound(ids.begin(), ids.end(), id) - ids.begin();
    }
  }
  return numbering;
}

// Words in order of their bytes.
Numbering number_names(Edges& edges) {
  const std::size_t count = edges.names.size();
  check_count(static_cast<std::int64_t>(count));
  std::vector<std::size_t> order(count), number(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return edges.names[a] < edges.names[b]; });
  Numbering numbering;
  numbering.vertices = static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    number[order[i]] = i;
    numbering.names.push_back(std::move(edges.names[order[i]]));
  }
  for (auto* ends : {&edges.from, &edges.to}) {
    for (std::int64_t& id : ends->span()) {
      id = static_cast<std::int64_t>(number[static_cast<std::size_t>(id)]);
    }
  }
  return numbering;
}

}  // namespace

Numbering number_vertices(Edges& edges) {
  if (!edges.names.empty()) return number_names(edges);
  if (edges.vertices) {
    if (*edges.vertices == 0) throw Error(ErrorKind::kInput, "has no vertices");
    check_count(*edges.vertices);
    std::vector<std::int64_t> ids;
    if (edges.first_id != 0) {
      ids.resize(static_cast<std::size_t>(*edges.vertices));
      std::iota(ids.begin(), ids.end(), edges.first_id);
    }
    return {*edges.vertices, std::move(ids), {}};
  }
  if (edges.size() == 0) throw Error(ErrorKind::kInput, "has no edges");
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = -1;
  for (const auto* ends : {&edges.from, &edges.to}) {
    const auto [low, high] = std::minmax_element(ends->begin(), ends->end());
    least = std::min(least, *low);
    most = std::max(most, *high);
  }
  // Labels are doubles, which hold whole numbers up to here: larger ids become words.
  constexpr std::int64_t kMostLabel = std::int64_t{1} << 53;
  if (most > kMostLabel || least < -kMostLabel) {
    Numbering numbering = number_by_order(edges);
    for (const std::int64_t id : numbering.ids) numbering.names.push_back(std::to_string(id));
    numbering.ids.clear();
    return numbering;
  }
  const auto close = static_cast<std::int64_t>(16 * edges.size() + (1 << 20));
  return least >= 0 && most < close ? number_by_marks(edges, most) : number_by_order(edges);
}

}  // namespace meanwhile::graph
