#include "meanwhile/tune/folds.h"

#include <algorithm>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/pick.h"
#include "meanwhile/data/strata.h"

namespace meanwhile::tune {

using base::counted;
using base::Error;
using base::ErrorKind;
using base::parameter;

namespace {

constexpr int kMostFolds = 1000;

void check(const FoldOptions& options) {
  if (options.folds == 0) {
    if (options.test_fraction > 0 && options.test_fraction < 1) return;
    throw Error(ErrorKind::kUsage, "{} is {}; it must be above 0 and below 1",
                parameter("test_fraction"), options.test_fraction);
  }
  if (options.folds < 2 || options.folds > kMostFolds) {
    throw Error(ErrorKind::kUsage, "{} is {}; it must be from 2 to {}", parameter("folds"),
                options.folds, kMostFolds);
  }
}

std::string class_name(const data::Dataset& data, double label) {
  if (data.class_names.empty()) return fmt::format("{}", label);
  return data.class_names[static_cast<std::size_t>(label)];
}

// The number of each row's label among all labels; zeros where labels do not matter.
std::vector<std::size_t> strata_of(const data::Part& part, bool stratified) {
  std::vector<std::size_t> strata(static_cast<std::size_t>(part.rows), 0);
  if (!stratified || part.label_values.empty()) return strata;
  const std::vector<double>& values = part.label_values;
  for (std::size_t row = 0; row < strata.size(); ++row) {
    const auto found = std::lower_bound(values.begin(), values.end(), part.data.labels[row]);
    strata[row] = static_cast<std::size_t>(found - values.begin());
  }
  return strata;
}

}  // namespace

Folds deal_folds(const data::Part& part, const FoldOptions& options) {
  check(options);
  const std::vector<std::size_t> strata = strata_of(part, options.stratified);
  const bool has_classes = options.stratified && !part.label_values.empty();
  std::vector<std::int64_t> sizes(has_classes ? part.label_values.size() : 1, 0);
  for (const std::size_t stratum : strata) ++sizes[stratum];
  for (std::size_t k = 0; has_classes && k < sizes.size(); ++k) {
    if (sizes[k] >= 2) continue;
    throw Error(ErrorKind::kInput,
                "class {} has one row: to compare models each class needs at least two, one to "
                "learn from and one to measure",
                class_name(part.data, part.label_values[k]));
  }
  std::vector<double> shares = {1 - options.test_fraction, options.test_fraction};
  const bool once = options.folds == 0;
  if (!once) shares.assign(static_cast<std::size_t>(options.folds), 1.0 / options.folds);
  data::Strata dealer(sizes, shares, options.seed);
  Folds folds;
  folds.count = once ? 1 : options.folds;
  for (int each = 0; each < static_cast<int>(shares.size()); ++each) {
    if (dealer.rows(each) > 0) continue;
    throw Error(ErrorKind::kInput, "{} cannot be divided so: a part would have no row",
                counted(part.rows, "row"));
  }
  for (std::size_t k = 0; has_classes && once && k < sizes.size(); ++k) {
    if (dealer.rows(k, 0) > 0) continue;
    throw Error(ErrorKind::kInput, "{} {} leaves no row of class {} to learn from",
                parameter("test_fraction"), options.test_fraction,
                class_name(part.data, part.label_values[k]));
  }
  folds.of_row.reserve(strata.size());
  for (const std::size_t stratum : strata) {
    folds.of_row.push_back(dealer.next(stratum) - (once ? 1 : 0));
  }
  return folds;
}

data::Part outside(const data::Part& part, const Folds& folds, int fold) {
  data::Part rest = part;
  rest.rows = 0;
  for (data::Shard& shard : rest.shards) {
    const std::vector<data::RowRange> blocks = std::move(shard.blocks);
    shard.blocks.clear();
    shard.rows = 0;
    for (const data::RowRange& block : blocks) {
      for (std::int64_t row = block.begin; row < block.end;) {
        const auto held = [&](std::int64_t at) {
          return folds.of_row[static_cast<std::size_t>(at)] == fold;
        };
        if (held(row)) {
          ++row;
          continue;
        }
        const std::int64_t begin = row;
        while (row < block.end && !held(row)) ++row;
        shard.blocks.push_back({begin, row});
        shard.rows += row - begin;
      }
    }
    rest.rows += shard.rows;
  }
  // An estimate: it sets how much memory is made ready, and no result.
  rest.stored =
      static_cast<std::int64_t>(static_cast<double>(part.stored) * static_cast<double>(rest.rows) /
                                static_cast<double>(std::max<std::int64_t>(1, part.rows)));
  return rest;
}

data::Dataset inside(const data::Part& part, const Folds& folds, int fold) {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < folds.of_row.size(); ++row) {
    if (folds.of_row[row] == fold) rows.push_back(static_cast<std::int64_t>(row));
  }
  return data::pick_rows(part.data, rows);
}

}  // namespace meanwhile::tune
