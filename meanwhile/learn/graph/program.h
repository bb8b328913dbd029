// A vertex program: what a vertex does in a round, in terms of its neighbours (GraphLab's gather,
// apply and scatter).
//
//   sent[v]  = program.send(value[v], facts[v])                  what neighbours see of v
//   sum[v]   = sum over edges u -> v of gather(sent[u], weight)  over shards, in one fixed order
//   value[v] = program.apply(value[v], sum[v], facts[v], round)
//
// A value is one number, or `width` numbers that are gathered alike. An edge of an undirected graph
// counts both ways. A program is a value without a state: it is used by many threads. The learner
// is vertex_learner.h; examples/ has a program outside of the library.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

namespace meanwhile::learn::graph {

// Facts of a vertex that a program may use.
struct VertexFacts {
  double weight = 0;        // of all edges that leave it
  double share = 0;         // 1 / weight, or 0 where that is 0
  std::int64_t degree = 0;  // edges that leave it
  double given = 0;         // what a file gives to the vertex; see RoundsOptions
};

// Facts that all vertices share in a round.
struct RoundFacts {
  std::int64_t round = 1, vertices = 0;
  double stuck = 0;  // the sum of the first values of vertices that no edge leaves
  double level = 0;  // what program.level() says; 0 at first
};

using Values = std::span<double>;
using ConstValues = std::span<const double>;

template <class P>
concept VertexProgram = requires(const P& program, Values values, ConstValues sum, double number,
                                 const VertexFacts& facts, const RoundFacts& round) {
  // Numbers a vertex.
  { program.width() } -> std::convertible_to<int>;
  // The value before the first round.
  program.begin(values, facts, round);
  // Writes the part of a value that neighbours see into the first argument.
  program.send(values, sum, facts);
  // One number that arrives over an edge of this weight.
  { program.gather(number, number) } -> std::convertible_to<double>;
  // Makes the next value, and returns how far it is from the last: rounds end when the sum over all
  // vertices is at most the tolerance.
  { program.apply(values, sum, facts, round) } -> std::convertible_to<double>;
};

// A program may also have level(round, change, change_before), which makes the level of a round
// from the second on: `round` has the level of the round before it, which changed the values by
// `change` in all, and the one before that by `change_before`.
template <class P>
concept HasLevels = requires(const P& program, const RoundFacts& round, double change) {
  { program.level(round, change, change) } -> std::convertible_to<double>;
};

}  // namespace meanwhile::learn::graph
