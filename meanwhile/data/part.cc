#include "meanwhile/data/part.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <span>
#include <utility>

#include "meanwhile/base/parallel.h"
#include "meanwhile/data/digest.h"

namespace meanwhile::data {

namespace {

// Distinct numbers, up to one more than the limit. Open addressing in a table that stays in the
// first-level cache while there are few numbers, as there are if labels are classes.
class NumberSet {
 public:
  bool full() const { return values_.size() > kMaxLabelValues; }
  void add(std::span<const double> numbers) {
    for (const double number : numbers) {
      const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);  // -0 becomes 0
      std::size_t slot = (bits * 0x9e3779b97f4a7c15u) >> (64 - kLogSlots);
      while (keys_[slot] != bits && used_[slot]) slot = (slot + 1) % kSlots;
      if (used_[slot]) continue;
      used_[slot] = true;
      keys_[slot] = bits;
      values_.push_back(number + 0.0);
      if (full()) return;
    }
  }
  const std::vector<double>& values() const { return values_; }

 private:
  static constexpr int kLogSlots = 12;
  static constexpr std::size_t kSlots = std::size_t{1} << kLogSlots;
  static_assert(kSlots > 2 * kMaxLabelValues);
  std::array<std::uint64_t, kSlots> keys_{};
  std::array<bool, kSlots> used_{};
  std::vector<double> values_;
};

LabelValues sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > kMaxLabelValues) return {{}, true};
  return {std::move(values), false};
}

}  // namespace

LabelValues merge(const LabelValues& a, const LabelValues& b) {
  if (a.too_many || b.too_many) return {{}, true};
  std::vector<double> values = a.values;
  values.insert(values.end(), b.values.begin(), b.values.end());
  return sorted(std::move(values));
}

LabelValues label_values(const Dataset& data, const std::vector<RowRange>& ranges,
                         base::Threads threads) {
  if (data.labels.empty()) return {};
  // One full set decides; the other threads stop at their next range.
  const auto count = static_cast<std::int64_t>(ranges.size());
  base::ThreadPool pool(threads.at_most(count));
  std::vector<NumberSet> sets(static_cast<std::size_t>(pool.size()));
  const std::int64_t runs = std::min<std::int64_t>(count, std::int64_t{64} * pool.size());
  pool.run(runs, [&](std::int64_t run, int thread) {
    NumberSet& set = sets[static_cast<std::size_t>(thread)];
    for (std::int64_t i = count * run / runs; i < count * (run + 1) / runs && !set.full(); ++i) {
      const RowRange rows = ranges[static_cast<std::size_t>(i)];
      set.add(data.labels.subspan(static_cast<std::size_t>(rows.begin),
                                  static_cast<std::size_t>(rows.end - rows.begin)));
    }
  });
  std::vector<double> all;
  for (const NumberSet& set : sets) {
    std::copy(set.values().begin(), set.values().end(), std::back_inserter(all));
  }
  return sorted(std::move(all));
}

std::vector<double> label_values(const Dataset& data, base::Threads threads) {
  return label_values(data, blocks_of(static_cast<std::int64_t>(data.labels.size()), kBlockRows),
                      threads)
      .values;
}

Part whole(Dataset data, int shards, std::uint64_t seed, base::Threads threads) {
  Part part;
  part.shards = deal(rows(data.x), shards, seed);
  const Whole all = whole_of(data);
  part.rows = all.rows;
  part.stored = all.stored;
  part.labelled = all.labelled;
  part.weighted = all.weighted;
  part.sha256 = sha256(data, threads);
  part.label_values = label_values(data, threads);
  part.data = std::move(data);
  return part;
}

}  // namespace meanwhile::data
