// Graphs as rows: every edge once, in the row of its owner; the cut; shards with numbers of their
// own.
#include "meanwhile/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "meanwhile/base/random.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/graph/histogram.h"
#include "meanwhile/graph/shard.h"
#include "test/expect_error.h"

namespace meanwhile::graph {
namespace {

using data::Edges;
using testing::ElementsAre;
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Edges edges_of(const Pairs& pairs, const std::vector<double>& weights = {}) {
  Edges edges;
  edges.from.resize(pairs.size());
  edges.to.resize(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    edges.from[i] = pairs[i].first;
    edges.to[i] = pairs[i].second;
  }
  edges.weights.resize(weights.size());
  std::copy(weights.begin(), weights.end(), edges.weights.begin());
  return edges;
}

data::Sparse<float> rows_of(const Built& built) {
  return std::get<data::Sparse<float>>(built.data.x);
}

// The edges of a graph as (from, to) -> weight; those of an undirected one with from <= to.
std::map<std::pair<std::int64_t, std::int64_t>, float> edges_in(const data::Sparse<float>& rows) {
  std::map<std::pair<std::int64_t, std::int64_t>, float> found;
  const bool directed = rows.cols != rows.rows;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const auto row = rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      std::int64_t from = i, to = row.columns[k];
      if (to >= rows.rows) {
        from = to - rows.rows;
        to = i;
      }
      if (!directed && from > to) std::swap(from, to);
      EXPECT_TRUE(found.emplace(std::pair{from, to}, row.values[k]).second) << from << " " << to;
    }
  }
  return found;
}

Pairs drawn(std::int64_t vertices, std::size_t count, std::uint64_t seed) {
  const base::Random random(seed, base::Purpose::kUser, 0, 0);
  std::uint64_t drawn = 0;
  Pairs pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto draw = [&] {
      // Some vertices have many edges.
      const double x = random.uniform(drawn++);
      return static_cast<std::int64_t>(x * x * static_cast<double>(vertices));
    };
    pairs.emplace_back(draw(), draw());
  }
  return pairs;
}

TEST(Graph, EdgesStandOnceAtTheirEndOfLowerDegree) {
  // A star with centre 0, and one edge between leaves.
  const Built built = build(edges_of({{0, 1}, {0, 2}, {3, 0}, {2, 3}}), {});
  const auto rows = rows_of(built);
  EXPECT_EQ(rows.rows, 4);
  EXPECT_EQ(rows.cols, 4);
  EXPECT_TRUE(rows.row(0).columns.empty());
  EXPECT_THAT(rows.row(1).columns, ElementsAre(0));
  EXPECT_THAT(rows.row(2).columns, ElementsAre(0, 3));
  EXPECT_THAT(rows.row(3).columns, ElementsAre(0));
  EXPECT_TRUE(built.data.labels.empty());
}

TEST(Graph, DirectionsAreKept) {
  BuildOptions options;
  options.directed = true;
  const Built built = build(edges_of({{0, 1}, {1, 0}, {2, 0}, {0, 1}}), options);
  const auto rows = rows_of(built);
  EXPECT_EQ(rows.cols, 6);
  EXPECT_EQ(edges_in(rows).size(), 3u);
  EXPECT_EQ(edges_in(rows).count({1, 0}), 1u);
  EXPECT_EQ(edges_in(rows).count({2, 0}), 1u);
  EXPECT_EQ(built.facts.duplicates, 1);
  EXPECT_THAT(degrees(rows).out, ElementsAre(1, 1, 1));
  EXPECT_THAT(degrees(rows).in, ElementsAre(2, 1, 0));
}

TEST(Graph, IdsMayHaveGapsAndBeLarge) {
  for (const std::int64_t far : {std::int64_t{9}, std::int64_t{1} << 50}) {
    const Built built = build(edges_of({{far, 3}, {3, -4}}), {});
    EXPECT_EQ(data::rows(built.data.x), 3);
    EXPECT_THAT(built.data.labels, ElementsAre(-4, 3, static_cast<double>(far)));
  }
  EXPECT_THAT(build(edges_of({{5, 3}}), {}).data.labels, ElementsAre(3, 5));
  // Above 2^53 doubles leave whole numbers out.
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_THAT(build(edges_of({{large, large - 1}, {7, large}}), {}).data.class_names,
              ElementsAre("7", "1152921504606846976", "1152921504606846977"));
}

TEST(Graph, LoopsAndDuplicatesAreCounted) {
  const Pairs pairs = {{0, 0}, {0, 1}, {1, 0}, {0, 1}, {2, 2}, {2, 2}};
  const Built kept = build(edges_of(pairs), {});
  EXPECT_EQ(kept.facts.listed, 6);
  EXPECT_EQ(kept.facts.loops, 2);
  EXPECT_EQ(kept.facts.duplicates, 2);
  EXPECT_EQ(kept.facts.both_ways, 1);
  EXPECT_EQ(edges_in(rows_of(kept)).size(), 3u);
  BuildOptions options;
  options.loops = Loops::kDrop;
  EXPECT_EQ(edges_in(rows_of(build(edges_of(pairs), options))).size(), 1u);
}

TEST(Graph, DuplicatesCountWhenAsked) {
  BuildOptions options;
  options.duplicates = Duplicates::kCount;
  const auto found =
      edges_in(rows_of(build(edges_of({{0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 2}}), options)));
  EXPECT_EQ(found.at({0, 1}), 2);
  EXPECT_EQ(found.at({1, 2}), 1);
  options = {};
  options.weights = false;
  const auto plain = edges_in(rows_of(build(edges_of({{0, 1}, {1, 2}}, {7, -3}), options)));
  EXPECT_EQ(plain.at({0, 1}), 1);
}

TEST(Graph, WordsAreNumberedInTheirOrder) {
  Edges edges = edges_of({{0, 1}, {1, 2}});
  edges.names = {"zoe", "ann", "max"};
  const Built built = build(std::move(edges), {});
  EXPECT_THAT(built.data.class_names, ElementsAre("ann", "max", "zoe"));
  EXPECT_THAT(built.data.labels, ElementsAre(0, 1, 2));
  const auto found = edges_in(rows_of(built));
  EXPECT_EQ(found.count({0, 2}), 1u);
  EXPECT_EQ(found.count({0, 1}), 1u);
}

TEST(Graph, WeightsAddOneWayAndMustAgreeBothWays) {
  const Built built = build(edges_of({{0, 1}, {0, 1}, {1, 2}, {2, 1}}, {1, 2, 5, 5}), {});
  const auto found = edges_in(rows_of(built));
  EXPECT_EQ(found.at({0, 1}), 3);
  EXPECT_EQ(found.at({1, 2}), 5);
  const auto error = [](const Pairs& pairs, const std::vector<double>& weights) {
    return input_error_of([&] { build(edges_of(pairs, weights), {}); });
  };
  EXPECT_EQ(error({{4, 7}, {7, 4}}, {1, 2}),
            "edge 4 7 weighs 1 one way and 2 the other; is the graph directed?");
  EXPECT_EQ(error({{0, 1}, {1, 2}}, {1, -2}),
            "edge 1 (counted from 0) weighs -2, expected 0 or more");
  EXPECT_EQ(input_error_of([] { build({}, {}); }), "has no edges");
}

TEST(Graph, IsTheSameForAnyNumberOfThreads) {
  const Pairs pairs = drawn(5000, 40000, 3);
  for (const bool directed : {false, true}) {
    BuildOptions options;
    options.directed = directed;
    const Built one = build(edges_of(pairs), options);
    options.threads = 3;
    const Built three = build(edges_of(pairs), options);
    EXPECT_EQ(edges_in(rows_of(one)), edges_in(rows_of(three)));
    std::set<std::pair<std::int64_t, std::int64_t>> expected;
    for (auto [from, to] : pairs) {
      if (!directed && from > to) std::swap(from, to);
      expected.insert({from, to});
    }
    EXPECT_EQ(edges_in(rows_of(one)).size(), expected.size());
  }
}

TEST(Cut, NoShardHasMoreThanItsShareAndARow) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Built built = build(edges_of(drawn(3000, 30000, seed)), {});
    const auto rows = rows_of(built);
    const std::span starts(rows.row_start, static_cast<std::size_t>(rows.rows) + 1);
    const auto edges = static_cast<double>(starts.back());
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      longest = std::max<std::int64_t>(longest, std::ssize(rows.row(i).columns));
    }
    EXPECT_LE(static_cast<double>(longest), std::sqrt(2 * edges));
    const auto out = degrees(rows).out;
    const Histogram histogram = histogram_of(std::vector<std::int64_t>(out.begin(), out.end()));
    const std::int64_t owned = most_owned(histogram);
    EXPECT_LE(longest, owned);
    EXPECT_LE(static_cast<double>(owned), std::sqrt(2 * edges));
    for (const int shards : {1, 2, 3, 8, 64, 5000}) {
      const auto cut = graph::cut(starts, shards);
      ASSERT_EQ(cut.size(), static_cast<std::size_t>(shards));
      std::int64_t next = 0;
      for (const data::Shard& shard : cut) {
        for (const data::RowRange& range : shard.blocks) {
          EXPECT_EQ(range.begin, next);
          next = range.end;
          const auto count = static_cast<double>(starts[static_cast<std::size_t>(range.end)] -
                                                 starts[static_cast<std::size_t>(range.begin)]);
          EXPECT_LE(count, edges / shards + std::sqrt(2 * edges) + 1);
        }
      }
      EXPECT_EQ(next, rows.rows);
    }
  }
}

TEST(Cut, CopiesAreThoseOfAFewVertices) {
  // A path of four vertices, cut in the middle: the vertex between is in both.
  const Built built = build(edges_of({{0, 1}, {1, 2}, {2, 3}}), {});
  const auto rows = rows_of(built);
  const std::span starts(rows.row_start, 5);
  EXPECT_EQ(count_copies(rows, cut(starts, 1)).copies, 1);
  EXPECT_EQ(count_copies(rows, cut(starts, 1)).most_edges, 3);
  EXPECT_GT(count_copies(rows, cut(starts, 3)).copies, 1);
  EXPECT_EQ(count_copies(rows, cut(starts, 1)).most_mirrors, 0);
  EXPECT_EQ(count_copies(rows, cut(starts, 2)).most_mirrors, 1);
  // All vertices of degree 1: a copy each.
  const Histogram ones = {{1, 100}};
  EXPECT_DOUBLE_EQ(random_copies(ones, 8), 1);
  EXPECT_DOUBLE_EQ(owner_copies(ones, 8), 1);
}

TEST(Filtered, IsTheGraphThatWouldHaveBeenBuilt) {
  const Pairs pairs = {{0, 1}, {1, 1}, {2, 0}, {2, 2}, {3, 1}};
  const std::vector<double> weights = {2, 3, 4, 5, 6};
  for (const bool directed : {false, true}) {
    BuildOptions options;
    options.directed = directed;
    const Built all = build(edges_of(pairs, weights), options);
    const auto found = [&](Loops loops, bool weighted) {
      const data::Dataset some = filtered(all.data, loops, weighted);
      return edges_in(std::get<data::Sparse<float>>(some.x));
    };
    EXPECT_EQ(found(Loops::kKeep, true), edges_in(rows_of(all)));
    const auto plain = found(Loops::kKeep, false), dropped = found(Loops::kDrop, true);
    EXPECT_EQ(plain.size(), 5U);
    for (const auto& [edge, weight] : plain) EXPECT_EQ(weight, 1);
    EXPECT_EQ(dropped.size(), 3U);
    for (const auto& [edge, weight] : dropped) EXPECT_NE(edge.first, edge.second);
  }
}

TEST(Histogram, SaysWhatOneVertexCanOwn) {
  EXPECT_EQ(most_owned({{1, 9}, {9, 1}}), 1);  // a star: its leaves own the edges
  EXPECT_EQ(most_owned({{4, 5}}), 4);          // five vertices, all joined
  EXPECT_EQ(most_owned({{9, 1}, {1, 9}, {3, 0}}), 1);
  EXPECT_EQ(most_owned({{8, 2}}, 2), 2);
  const Histogram some = {{0, 10}, {1, 20}, {5, 4}};
  EXPECT_EQ(vertices_in(some), 34);
  EXPECT_EQ(graph::edges_in(some), 20);
  const auto copies = owner_copies_by_workers(some);
  ASSERT_EQ(copies.size(), 6U);
  EXPECT_EQ(copies[2].first, 8);
  EXPECT_DOUBLE_EQ(copies[2].second.copies, (10 + 24 * owner_copies(some, 8)) / 34);
}

TEST(ShardGraph, HoldsTheEdgesOfItsRows) {
  for (const RowOf row_of : {RowOf::kOwner, RowOf::kFewerEdges}) {
    for (const bool directed : {false, true}) {
      BuildOptions options;
      options.directed = directed;
      const Built built = build(edges_of(drawn(300, 2000, 5)), options);
      const auto rows = rows_of(built);
      const auto cut = graph::cut({rows.row_start, static_cast<std::size_t>(rows.rows) + 1}, 4);
      std::multiset<std::pair<std::int64_t, std::int64_t>> found, expected;
      for (const auto& [edge, weight] : edges_in(rows)) expected.insert(edge);
      for (const data::Shard& part : cut) {
        const auto range = part.blocks.front();
        const ShardGraph shard = shard_graph(rows, range, range.begin, rows.rows, row_of);
        auto group = shard.vertices.begin();
        for (const std::size_t end : shard.group_ends) {
          const auto next = shard.vertices.begin() + static_cast<std::ptrdiff_t>(end);
          EXPECT_TRUE(std::is_sorted(group, next));
          group = next;
        }
        EXPECT_EQ(group, shard.vertices.end());
        EXPECT_TRUE(shard.weights.empty());
        const auto add = [&](std::int64_t from, std::int64_t to) {
          if (!directed && from > to) std::swap(from, to);
          found.insert({from, to});
        };
        std::size_t k = 0;
        for (const auto& row : shard.rows) {
          for (; k < row.in_end; ++k) {
            const std::int64_t mine = shard.vertices[row.vertex];
            const std::int64_t other = shard.vertices[shard.others[k]];
            const bool arrives = directed && k >= row.out_end;
            add(arrives ? other : mine, arrives ? mine : other);
          }
        }
        for (const auto& loop : shard.loops) {
          add(shard.vertices[loop.vertex], shard.vertices[loop.vertex]);
        }
      }
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(ShardGraph, ShortensRowsByFewerEdges) {
  const Built built = build(edges_of(drawn(300, 2000, 5)), {});
  const auto rows = rows_of(built);
  for (const data::Shard& part :
       graph::cut({rows.row_start, static_cast<std::size_t>(rows.rows) + 1}, 4)) {
    const auto range = part.blocks.front();
    const ShardGraph shard = shard_graph(rows, range, range.begin, rows.rows, RowOf::kFewerEdges);
    std::vector<std::size_t> edges(shard.vertices.size());
    const auto over_edges = [&](const auto& use) {
      std::size_t k = 0;
      for (const auto& row : shard.rows) {
        for (; k < row.in_end; ++k) use(row.vertex, shard.others[k]);
      }
    };
    over_edges([&](std::uint32_t vertex, std::uint32_t other) {
      ++edges[vertex];
      ++edges[other];
    });
    for (const auto& loop : shard.loops) edges[loop.vertex] += 2;
    over_edges(
        [&](std::uint32_t vertex, std::uint32_t other) { EXPECT_LE(edges[vertex], edges[other]); });
  }
}

}  // namespace
}  // namespace meanwhile::graph
