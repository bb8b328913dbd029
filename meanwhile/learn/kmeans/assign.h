// Rows to their nearest centres, whatever the kind of matrix: the one way training, seeding,
// prediction and evaluation do it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/learn/kmeans/centers.h"
#include "meanwhile/learn/kmeans/kernel.h"
#include "meanwhile/learn/kmeans/sparse.h"

namespace meanwhile::learn::kmeans {

// Centres ready for the rows of one data set.
struct Prepared {
  Metric metric = Metric::kEuclidean;
  std::int64_t K = 0, D = 0;
  Centers dense;
  SparseCenters sparse;
};

// A sample of the rows in `rows`, to set the scale of the 8-bit screen: it changes how fast labels
// are found, never which.
// `release`: rows are mapped, and let go after use.
Spread measure_spread(const data::Matrix& x, std::span<const data::RowRange> rows,
                      bool release = false);

Prepared prepare(const data::Matrix& x, Metric metric, std::span<const double> centers,
                 std::int64_t K, const Spread& spread, Screen wanted);

// kInt8 where the machine has it.
Screen fastest_screen();

// How far centres moved since bounds were taken, for pruning after Hamerly (2010): a row that is
// nearer to its own centre than it can be to any other keeps its label without a look at it.
struct Drift {
  struct Cluster {
    float own = 0;       // how far the centre moved, at most
    float others = 0;    // how far any other centre moved, at most
    float half_gap = 0;  // half the distance to the nearest other centre, at least; 0: not computed
  };
  std::vector<Cluster> clusters;
};

// Memory of one thread.
struct AssignScratch {
  Scratch kernel;
  std::vector<double> scores, values, others, inverse, factors;
  std::vector<std::int32_t> labels, open;
  struct Moved {
    std::int32_t at;    // which of the rows
    std::int32_t from;  // its label before
  };
  std::vector<Moved> moved;  // by the last call of assign() with labels known
};

// Counts of what happened, for the record.
struct AssignCount {
  std::int64_t searched = 0;  // rows that were not decided by bounds
  std::int64_t compared = 0;  // exact comparisons with centres, beyond the one with the own
};

// Numbers of rows.
using Ids = std::span<const std::int64_t>;

// Some rows of x; every array holds one entry for each.
struct AssignRows {
  Ids ids;
  std::int32_t* labels;  // in: labels of the last round, or all -1. out: the nearest centre
  double* distances;     // out, unless null: to it, squared Euclidean or 1 - cosine
  // Null, or in and out: the row's own centre is no farther than `upper`, and no other centre is
  // nearer than `lower` (Euclidean, not squared; the chord under cosine). Dense rows only.
  float* upper;
  float* lower;
};

// The result does not depend on labels and bounds handed in, as long as they are true.
AssignCount assign(const data::Matrix& x, const Prepared& centers, const Drift* drift,
                   const AssignRows& rows, AssignScratch& scratch);

// all[i * K + k] = distance of row ids[i] to centre k, squared Euclidean or 1 - cosine.
void all_distances(const data::Matrix& x, const Prepared& centers, Ids ids, AssignScratch& scratch,
                   double* all);

// The same, but at most bounds[i]; quicker, because most centres are seen to be farther.
void nearer_distances(const data::Matrix& x, const Prepared& centers, Ids ids, const double* bounds,
                      AssignScratch& scratch, double* all);

// Row i as D doubles, of unit length under cosine.
void copy_row(const data::Matrix& x, Metric metric, std::int64_t i, std::span<double> out);

}  // namespace meanwhile::learn::kmeans
