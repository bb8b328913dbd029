// Belief propagation on the cores of one computer, as "Modeling Scalability of Distributed Machine
// Learning" (Ulanov et al.) models it from the degrees of a graph alone.
//
// The time is that of the worker with most edges. Vertices are dealt to workers in turn, in the
// order of their degrees; a worker's edges are the sum of its degrees, less the edges that are
// expected to have both ends with it, which are counted twice:
//
//   E(n) = max_i (sum of degrees of worker i)  -  E (V - n) / (n^2 (V - 1)),    E(1) = E
//
// The paper says that vertices are dealt at random and divides by n once more; its numbers come
// from what is here.
#pragma once

#include "meanwhile/graph/histogram.h"

namespace meanwhile::plan::papers {

// REQUIRES: n >= 1; degrees rise.
double edges_twice(const graph::Histogram& degrees, int n);
double edges_of_largest(const graph::Histogram& degrees, int n);
double belief_speedup(const graph::Histogram& degrees, int n);

// The same figure with a cut that deals edges, as GraphLab's and ours does: the worker with most of
// them has its share and what one vertex can own. `rest`: the part of one worker's time that all of
// several workers take beside their edges.
double balanced_speedup(const graph::Histogram& degrees, double rest, int n);
// The rest that two workers show which are `speedup` times as fast as one, if their cut is even.
double rest_of_two(double speedup);

}  // namespace meanwhile::plan::papers
