// The rows of some shards of a data set, as one node of a job holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/deal.h"

namespace meanwhile::data {

inline constexpr std::size_t kMaxLabelValues = 1000;

struct Part {
  // Rows numbered locally, in order of their number in the whole data set. Rows of shards that are
  // not held are absent, or present but not to be touched (a mapped file is mapped whole): go by
  // `shards`, never by rows(data.x). Type, columns and names are the same on every node.
  Dataset data;
  // All S of them. `rows` is right for all; blocks are ranges of local rows, empty for shards not
  // held here.
  std::vector<Shard> shards;

  // Of the whole data set:
  std::int64_t rows = 0, stored = 0;
  bool labelled = false, weighted = false;  // data.labels is empty also where no row is held
  std::string sha256;
  // The distinct labels, ascending; none when there are no labels or more than kMaxLabelValues
  // distinct ones.
  std::vector<double> label_values;
};

// The part of a node that is the only one: every row.
Part whole(Dataset data, int shards, std::uint64_t seed, int threads);

// The distinct labels of the rows in `ranges` (of all rows without them), ascending, -0 counted as
// 0; nothing when there are more than kMaxLabelValues.
struct LabelValues {
  std::vector<double> values;
  bool too_many = false;
  bool operator==(const LabelValues&) const = default;
};
LabelValues label_values(const Dataset& data, const std::vector<RowRange>& ranges, int threads);
std::vector<double> label_values(const Dataset& data, int threads);
// Of the rows of both.
LabelValues merge(const LabelValues& a, const LabelValues& b);

}  // namespace meanwhile::data
