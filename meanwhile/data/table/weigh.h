// Weights of encoded values: scales of columns, inverse document frequencies, rows of unit length.
// They are fitted in training, kept in the schema, and applied wherever the model meets rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/table/column_statistics.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// The weights that training is asked for.
struct Weighting {
  bool standardize = false;  // divide numbers by the standard deviation of their column
  bool tfidf = false;        // multiply counts by ln((1 + n) / (1 + df)) + 1, as scikit-learn does
  bool normalize = false;    // divide a row by its Euclidean length
  bool any() const { return standardize || tfidf || normalize; }
};

// The schema of `part` with these weights, fitted on its shards. Columns that are one value
// everywhere keep their scale; so do indicators of categories. A row dealt by content counts as
// often as its weight says. Sums of shards are added in one order, so the weights are the same for
// any number of workers. Collective where add_up is.
TableSchema fit_weights(const Part& part, const Weighting& weighting, base::Threads threads,
                        const AddUp& add_up);

// The data with the weights of `schema`, in memory of its own; as it is when there are none.
Dataset weigh(Dataset data, const TableSchema& schema, base::Threads threads);

// The share of the variance that the column with most of it makes, of a sample of the rows held
// here. Distances are hardly more than differences in that column if the share is near 1.
struct Dominant {
  std::int64_t column = -1;
  double share = 0;
};
Dominant dominant_column(const Part& part);

}  // namespace meanwhile::data
