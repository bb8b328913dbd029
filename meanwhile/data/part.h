// The rows of some shards of a data set, as one worker of a job holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/data/spread.h"

namespace meanwhile::data {

inline constexpr std::size_t kMaxLabelValues = 1000;

struct Part {
  // Rows are numbered locally, in order of their number in the whole data set. Rows of other
  // shards are absent, or present but not to be touched (a mapped file is mapped whole): use
  // `shards`, never rows(data.x). Type, columns and names are the same on every worker.
  Dataset data;
  // All S shards. `rows` is right for all; blocks are ranges of local rows, and only shards held
  // here have any: those of this worker, and with two replicas some of its neighbours'.
  std::vector<Shard> shards;

  Deal deal = Deal::kBlocks;

  // The whole data set, as it is dealt: by content, equal rows may be one.
  std::int64_t rows = 0, stored = 0;
  std::int64_t read_rows = 0;               // dealt by content: rows of the files
  bool labelled = false, weighted = false;  // data.labels is also empty if no row is held
  std::string sha256;
  // The distinct labels, ascending. Empty if there are no labels, or more than kMaxLabelValues
  // distinct ones.
  std::vector<double> label_values;
  Spread spread;  // graphs: on the workers of this job
};

// The part of a worker that is the only one: it holds every row.
Part whole(Dataset data, int shards, std::uint64_t seed, base::Threads threads);

// The distinct labels of the rows in `ranges`, or of all rows, ascending, -0 counted as 0. Empty if
// there are more than kMaxLabelValues.
struct LabelValues {
  std::vector<double> values;
  bool too_many = false;
  bool operator==(const LabelValues&) const = default;
};
LabelValues label_values(const Dataset& data, const std::vector<RowRange>& ranges,
                         base::Threads threads);
std::vector<double> label_values(const Dataset& data, base::Threads threads);
// The label values of two sets of rows together.
LabelValues merge(const LabelValues& a, const LabelValues& b);

}  // namespace meanwhile::data
