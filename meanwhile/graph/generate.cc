#include "meanwhile/graph/generate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"

namespace meanwhile::graph {

namespace {

using base::Purpose;
using base::Random;
using data::Edges;

constexpr std::int64_t kEdgesAtOnce = 1 << 16;
constexpr int kMostScale = 30;
constexpr std::int64_t kMostEnds = std::int64_t{1} << 36;

// Streams of random numbers.
enum Stream : std::uint32_t { kEdgeStream, kRenumber, kPairs };

Random random_of(std::uint64_t seed, Stream stream) {
  return {seed, Purpose::kGenerate, static_cast<std::uint32_t>(stream), 0};
}

Edges empty_edges(std::int64_t vertices, std::int64_t count) {
  Edges edges;
  edges.vertices = vertices;
  edges.from.resize(static_cast<std::size_t>(count));
  edges.to.resize(static_cast<std::size_t>(count));
  return edges;
}

template <class Use>
void for_edges(std::int64_t count, int threads, const Use& use) {
  base::ThreadPool pool(threads);
  pool.run((count + kEdgesAtOnce - 1) / kEdgesAtOnce, [&](std::int64_t piece, int) {
    const std::int64_t end = std::min(count, (piece + 1) * kEdgesAtOnce);
    for (std::int64_t i = piece * kEdgesAtOnce; i < end; ++i) use(static_cast<std::size_t>(i));
  });
}

template <class T>
void shuffle(std::vector<T>& values, const Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.below(i, i)]);
  }
}

}  // namespace

Edges kronecker(int scale, std::int64_t edge_factor, std::uint64_t seed, int threads) {
  if (scale < 0 || scale > kMostScale) {
    throw base::Error(base::ErrorKind::kUsage, "scale is {}; it must be 0 to {}", scale,
                      kMostScale);
  }
  const std::int64_t vertices = std::int64_t{1} << scale;
  Edges edges = empty_edges(vertices, vertices * edge_factor);
  std::vector<std::int64_t> number(static_cast<std::size_t>(vertices));
  std::iota(number.begin(), number.end(), std::int64_t{0});
  shuffle(number, random_of(seed, kRenumber));
  const Random random = random_of(seed, kEdgeStream);
  // Bits of 16 that fall into the first three quarters of the matrix.
  constexpr std::uint64_t kA = 37356, kB = 12452, kC = 12452;  // of 65536
  const auto draws = static_cast<std::size_t>((scale + 3) / 4);
  for_edges(vertices * edge_factor, threads, [&](std::size_t i) {
    std::size_t from = 0, to = 0;
    for (int bit = 0; bit < scale;) {
      std::uint64_t bits = random.bits(i * draws + static_cast<std::size_t>(bit / 4));
      for (const int end = std::min(scale, bit + 4); bit < end; ++bit, bits >>= 16) {
        const std::uint64_t draw = bits & 0xffff;
        const bool down = draw >= kA + kB;
        const bool right = down ? draw >= kA + kB + kC : draw >= kA;
        from = 2 * from + down;
        to = 2 * to + right;
      }
    }
    edges.from[i] = number[from];
    edges.to[i] = number[to];
  });
  return edges;
}

Edges uniform_edges(std::int64_t vertices, std::int64_t count, std::uint64_t seed, int threads) {
  Edges edges = empty_edges(vertices, count);
  const Random random = random_of(seed, kEdgeStream);
  const auto bound = static_cast<std::uint64_t>(vertices);
  for_edges(count, threads, [&](std::size_t i) {
    edges.from[i] = static_cast<std::int64_t>(random.below(2 * i, bound));
    edges.to[i] = static_cast<std::int64_t>(random.below(2 * i + 1, bound));
  });
  return edges;
}

Edges of_degrees(const Histogram& degrees, std::uint64_t seed) {
  // One end is 8 bytes.
  if (edges_in(degrees) > kMostEnds / 2 || vertices_in(degrees) > kMostEnds) {
    throw base::Error(
        base::ErrorKind::kInput, "{} and {}: at most 2^35 edges and 2^36 vertices can be made",
        base::counted(edges_in(degrees), "edge"), base::counted(vertices_in(degrees), "vertex"));
  }
  std::vector<std::int64_t> ends;
  std::int64_t vertices = 0;
  for (const DegreeCount& some : degrees) {
    for (std::int64_t v = 0; v < some.vertices; ++v, ++vertices) {
      ends.insert(ends.end(), static_cast<std::size_t>(some.degree), vertices);
    }
  }
  shuffle(ends, random_of(seed, kPairs));
  Edges edges = empty_edges(vertices, static_cast<std::int64_t>(ends.size() / 2));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    edges.from[i] = ends[2 * i];
    edges.to[i] = ends[2 * i + 1];
  }
  return edges;
}

}  // namespace meanwhile::graph
