#include "meanwhile/learn/kmeans/lloyd.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/random.h"

namespace meanwhile::learn::kmeans {

namespace {

// Sums that do not fit in a core's second-level cache are added cluster after cluster, when all
// rows of the shard have their labels. The order within a cluster is the same: so are the bits.
constexpr std::int64_t kSumsInCacheBytes = 512 << 10;

// The rows of the shard that are farthest from their centres.
class FarRows {
 public:
  explicit FarRows(std::int64_t count) : count_(static_cast<std::size_t>(count)) {}

  void offer(double distance, std::int64_t row) {
    if (count_ == 0 || !(distance > 0)) return;
    const Far candidate{distance, row};
    if (rows_.size() == count_ && !(candidate < rows_.back())) return;
    rows_.insert(std::upper_bound(rows_.begin(), rows_.end(), candidate), candidate);
    if (rows_.size() > count_) rows_.pop_back();
  }

  void write(const Attachment& job, Metric metric, const UpdateView& view, int shard,
             std::span<double> update) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::int64_t at = view.far_row(shard, static_cast<std::int64_t>(i));
      update[static_cast<std::size_t>(at)] = rows_[i].distance;
      update[static_cast<std::size_t>(at + 1)] = static_cast<double>(rows_[i].row + 1);
      const auto D = static_cast<std::size_t>(data::cols(job.data->x));
      copy_row(job.data->x, metric, rows_[i].row,
               update.subspan(static_cast<std::size_t>(at + 2), D));
    }
  }

 private:
  struct Far {
    double distance;
    std::int64_t row;
    // Farther first, then the lower row.
    bool operator<(const Far& other) const {
      return distance != other.distance ? distance > other.distance : row < other.row;
    }
  };
  std::size_t count_;
  std::vector<Far> rows_;  // in order
};

// Adds the rows cluster after cluster: a counting sort by label, stable, then one sweep.
void add_by_cluster(const Round& round, const Attachment& job, const data::Shard& shard,
                    const std::vector<std::int32_t>& labels, AssignScratch& scratch, double* sums) {
  std::vector<std::int64_t> start(static_cast<std::size_t>(round.centers.K) + 1, 0);
  for (const std::int32_t label : labels) ++start[static_cast<std::size_t>(label) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int64_t> ids(labels.size());
  std::vector<std::int32_t> sorted(labels.size());
  std::vector<double> weights(job.data->weights.empty() ? 0 : labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto to = static_cast<std::size_t>(start[static_cast<std::size_t>(labels[i])]++);
    ids[to] = row_of(shard, static_cast<std::int64_t>(i));
    sorted[to] = labels[i];
    if (!weights.empty()) weights[to] = job.data->weights[static_cast<std::size_t>(ids[to])];
  }
  add_rows(job.data->x, round.centers.metric, ids, sorted.data(),
           weights.empty() ? nullptr : weights.data(), scratch, sums);
}

// The rows of the shard that the batch of this round holds: drawn with replacement, each shard its
// share by number of rows.
std::vector<std::int64_t> draw(const Round& round, const Attachment& job,
                               const data::Shard& shard) {
  std::int64_t before = 0, total = 0;
  for (const data::Shard& other : job.shards) {
    if (other.index < shard.index) before += other.rows;
    total += other.rows;
  }
  const std::int64_t begin = round.batch * before / total;
  const std::int64_t end = round.batch * (before + shard.rows) / total;
  const base::Random random(round.seed, base::Purpose::kBatch,
                            static_cast<std::uint32_t>(shard.index), round.number);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < end - begin; ++i) {
    const auto drawn =
        random.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(shard.rows));
    ids.push_back(row_of(shard, static_cast<std::int64_t>(drawn)));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

void work_on_shard(const Round& round, const Attachment& job, const data::Shard& shard,
                   ShardCache* cache, std::span<double> update) {
  const std::int64_t K = round.centers.K, D = round.centers.D;
  const Metric metric = round.centers.metric;
  const UpdateView view(K, D, static_cast<int>(job.shards.size()), round.far);
  double* const sums = update.data() + view.sums();
  double* const weights = update.data() + view.weights();
  double* const inertias = update.data() + view.inertias();
  double* const measures = update.data() + view.measures();
  AssignScratch scratch;
  FarRows far(round.far);

  // Labels of the last round are guesses, and make bounds worth something.
  const bool cached = cache != nullptr && round.batch == 0;
  const bool known = cached && !cache->labels.empty();
  std::vector<std::int32_t> kept;  // labels of all rows, when something needs them
  const bool by_cluster = round.batch == 0 && !job.release && K * D * 8 > kSumsInCacheBytes;
  if (cached) kept = std::move(cache->labels);
  if (cached || by_cluster) kept.resize(static_cast<std::size_t>(shard.rows), -1);
  if (cached) cache->bounds.resize(static_cast<std::size_t>(shard.rows), 0.0F);

  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> labels, old;
  std::vector<double> distances, block_weights;
  // Assigns and sums the rows `ids`, which stand at `at` in the shard.
  const auto take = [&](std::int64_t at) {
    const std::size_t n = ids.size();
    labels.assign(n, -1);
    if (known) std::copy_n(kept.begin() + at, n, labels.begin());
    old = labels;
    distances.resize(n);
    float* bounds = cached ? cache->bounds.data() + at : nullptr;
    const AssignCount count = assign(job.data->x, round.centers,
                                     known && !round.drift.others.empty() ? &round.drift : nullptr,
                                     {ids, labels.data(), distances.data(), bounds}, scratch);
    const double* block = nullptr;
    if (!job.data->weights.empty()) {
      block_weights.resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        block_weights[i] = job.data->weights[static_cast<std::size_t>(ids[i])];
      }
      block = block_weights.data();
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double weight = block == nullptr ? 1.0 : block[i];
      weights[labels[i]] += weight;
      inertias[labels[i]] += weight * distances[i];
      measures[UpdateView::kMoved] += known && labels[i] != old[i] ? 1 : 0;
      if (round.far > 0 && weight > 0) far.offer(distances[i], ids[i]);
    }
    measures[UpdateView::kKnown] += known ? static_cast<double>(n) : 0;
    measures[UpdateView::kSearched] += static_cast<double>(count.searched);
    measures[UpdateView::kCompared] += static_cast<double>(count.compared);
    measures[UpdateView::kRows] += static_cast<double>(n);
    if (!by_cluster) add_rows(job.data->x, metric, ids, labels.data(), block, scratch, sums);
    if (!kept.empty()) std::copy_n(labels.begin(), n, kept.begin() + at);
  };

  if (round.batch > 0) {
    // In pieces, so that rows of mapped data can be let go between.
    const std::vector<std::int64_t> drawn =
        shard.rows > 0 ? draw(round, job, shard) : std::vector<std::int64_t>();
    for (auto begin = drawn.begin(); begin != drawn.end(); begin += std::ssize(ids)) {
      ids.assign(begin, begin + std::min<std::ptrdiff_t>(data::kBlockRows, drawn.end() - begin));
      take(0);
      if (!job.release) continue;
      for (const std::int64_t row : ids) release_rows(job.data->x, {row, row + 1});
    }
  } else {
    std::int64_t at = 0;
    for (const data::RowRange& block : shard.blocks) {
      ids.resize(static_cast<std::size_t>(block.end - block.begin));
      std::iota(ids.begin(), ids.end(), block.begin);
      take(at);
      at += block.end - block.begin;
      if (job.release) release_rows(job.data->x, block);
    }
  }
  if (by_cluster) add_by_cluster(round, job, shard, kept, scratch, sums);
  far.write(job, metric, view, shard.index, update);
  if (cached) cache->labels = std::move(kept);
}

double move_center(std::span<double> center, const double* to) {
  double squared = 0;
  for (std::size_t j = 0; j < center.size(); ++j) {
    squared += (to[j] - center[j]) * (to[j] - center[j]);
    center[j] = to[j];
  }
  return std::sqrt(squared);
}

std::vector<double> move_centers(Metric metric, const UpdateView& view,
                                 std::span<const double> total, std::int64_t K, std::int64_t D,
                                 std::vector<double>& centers) {
  std::vector<double> shifts(static_cast<std::size_t>(K), 0.0), mean(static_cast<std::size_t>(D));
  for (std::int64_t k = 0; k < K; ++k) {
    double divisor = total[static_cast<std::size_t>(view.weights() + k)];
    if (!(divisor > 0)) continue;
    const double* sum = total.data() + view.sums() + k * D;
    if (metric == Metric::kCosine) {
      divisor = std::sqrt(std::inner_product(sum, sum + D, sum, 0.0));
      if (!(divisor > 0)) continue;  // rows that cancel, or rows of zeros: no direction to go
    }
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] = sum[j] / divisor;
    shifts[static_cast<std::size_t>(k)] =
        move_center({centers.data() + k * D, static_cast<std::size_t>(D)}, mean.data());
  }
  return shifts;
}

}  // namespace meanwhile::learn::kmeans
