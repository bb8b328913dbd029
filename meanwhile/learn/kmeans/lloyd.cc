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
      const auto D = static_cast<std::size_t>(data::cols(job.part->data.x));
      copy_row(job.part->data.x, metric, rows_[i].row,
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

std::vector<std::int64_t> ids_of(const data::RowRange& block) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(block.end - block.begin));
  std::iota(ids.begin(), ids.end(), block.begin);
  return ids;
}

// The rows of the shard that the batch of this round holds: drawn with replacement, each shard its
// share by number of rows.
std::vector<std::int64_t> draw(const Round& round, const Attachment& job,
                               const data::Shard& shard) {
  std::int64_t before = 0, total = 0;
  for (const data::Shard& other : job.part->shards) {
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

// One call of work_on_shard.
class Work {
 public:
  Work(const Round& round, const Attachment& job, const data::Shard& shard, ShardCache& cache,
       std::span<double> update)
      : round_(round),
        job_(job),
        shard_(shard),
        cache_(cache),
        update_(update),
        view_(round.centers.K, round.centers.D, static_cast<int>(job.part->shards.size()),
              round.far),
        measures_(update.data() + view_.measures()),
        far_(round.far),
        exact_(static_cast<std::size_t>(round.centers.K), 0.0) {}

  void run() {
    if (round_.batch > 0) {
      on_batch();
    } else {
      on_all_rows();
    }
    far_.write(job_, round_.centers.metric, view_, shard_.index, update_);
  }

 private:
  // Cells are the cache's own when they are kept, else the place in the update they will fill.
  std::span<double> cells(ClusterSums& sums) {
    return round_.keep_sums && &sums == &cache_.sums ? std::span(sums.cells)
                                                     : update_.first(sums_size());
  }
  std::size_t sums_size() const {
    return static_cast<std::size_t>(round_.centers.K * round_.centers.D);
  }

  void on_all_rows() {
    if (!cache_.grid) measure();
    const bool known = round_.keep_rows && !cache_.labels.empty();
    const bool patch = known && round_.keep_sums && !cache_.sums.weights.empty();
    const bool by_cluster =
        !patch && !job_.release && sums_size() * sizeof(double) > kSumsInCacheBytes;
    ClusterSums fresh;
    ClusterSums& sums = round_.keep_sums ? cache_.sums : fresh;
    if (!patch) sums.restart(round_.centers.K, round_.keep_sums ? round_.centers.D : 0);

    std::vector<std::int32_t> labels = std::move(cache_.labels);
    if (!known) {
      labels.assign(static_cast<std::size_t>(shard_.rows), -1);
      const std::size_t bounds = round_.keep_rows ? labels.size() : 0;
      cache_.upper.assign(bounds, 0.0F);
      cache_.lower.assign(bounds, 0.0F);
    }
    std::int64_t at = 0;
    for (const data::RowRange& block : shard_.blocks) {
      const std::vector<std::int64_t> ids = ids_of(block);
      const bool bounds = round_.keep_rows;
      look(ids, labels.data() + at, bounds ? cache_.upper.data() + at : nullptr,
           bounds ? cache_.lower.data() + at : nullptr, known);
      if (patch) {
        move(ids, labels.data() + at, sums);
      } else if (!by_cluster) {
        move_rows(job_.part->data, round_.centers.metric, *cache_.grid, ids, nullptr,
                  labels.data() + at, scratch_, sums, cells(sums));
      }
      at += block.end - block.begin;
      job_.leave(block);
    }
    if (by_cluster) add_by_cluster(labels, sums);
    finish(*cache_.grid, sums);
    if (round_.keep_rows) cache_.labels = std::move(labels);
  }

  // The rows that changed their cluster, from the old to the new.
  void move(Ids ids, const std::int32_t* labels, ClusterSums& sums) {
    std::vector<std::int64_t> moved;
    std::vector<std::int32_t> from, to;
    for (const AssignScratch::Moved& row : scratch_.moved) {
      moved.push_back(ids[static_cast<std::size_t>(row.at)]);
      from.push_back(row.from);
      to.push_back(labels[row.at]);
    }
    move_rows(job_.part->data, round_.centers.metric, *cache_.grid, moved, from.data(), to.data(),
              scratch_, sums, cells(sums));
  }

  // A counting sort by label, then one sweep: the sums of a cluster stay in cache.
  void add_by_cluster(const std::vector<std::int32_t>& labels, ClusterSums& sums) {
    std::vector<std::int64_t> start(static_cast<std::size_t>(round_.centers.K) + 1, 0);
    for (const std::int32_t label : labels) ++start[static_cast<std::size_t>(label) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<std::int64_t> ids(labels.size());
    std::vector<std::int32_t> sorted(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto to = static_cast<std::size_t>(start[static_cast<std::size_t>(labels[i])]++);
      ids[to] = row_of(shard_, static_cast<std::int64_t>(i));
      sorted[to] = labels[i];
    }
    move_rows(job_.part->data, round_.centers.metric, *cache_.grid, ids, nullptr, sorted.data(),
              scratch_, sums, cells(sums));
  }

  void on_batch() {
    const std::vector<std::int64_t> drawn =
        shard_.rows > 0 ? draw(round_, job_, shard_) : std::vector<std::int64_t>();
    // In pieces, so that rows of mapped data can be let go between.
    const auto pieces = [&](const auto& use) {
      for (std::size_t i = 0; i < drawn.size(); i += data::kBlockRows) {
        const Ids ids =
            Ids(drawn).subspan(i, std::min<std::size_t>(data::kBlockRows, drawn.size() - i));
        use(ids);
        for (const std::int64_t row : ids) job_.leave({row, row + 1});
      }
    };
    GridMeasure measure(job_.part->data, round_.centers.metric);
    pieces([&](Ids ids) { measure.add(ids); });
    if (drawn.empty()) return;
    const Grid grid = measure.finish();
    ClusterSums sums;
    sums.restart(round_.centers.K, 0);
    pieces([&](Ids ids) {
      std::vector<std::int32_t> labels(ids.size(), -1);
      look(ids, labels.data(), nullptr, nullptr, false);
      move_rows(job_.part->data, round_.centers.metric, grid, ids, nullptr, labels.data(), scratch_,
                sums, cells(sums));
    });
    finish(grid, sums);
  }

  void measure() {
    GridMeasure measure(job_.part->data, round_.centers.metric);
    for (const data::RowRange& block : shard_.blocks) {
      measure.add(ids_of(block));
      job_.leave(block);
    }
    cache_.grid = measure.finish();
  }

  // Finds the labels of the rows, and takes note of what they were like.
  void look(Ids ids, std::int32_t* labels, float* upper, float* lower, bool known) {
    const bool distances = round_.exact || round_.far > 0;
    distances_.resize(ids.size());
    const Drift* drift = known && !round_.drift.clusters.empty() ? &round_.drift : nullptr;
    const AssignCount count =
        assign(job_.part->data.x, round_.centers, drift,
               {ids, labels, distances ? distances_.data() : nullptr, upper, lower}, scratch_);
    measures_[UpdateView::kMoved] += static_cast<double>(scratch_.moved.size());
    measures_[UpdateView::kKnown] += known ? static_cast<double>(ids.size()) : 0;
    measures_[UpdateView::kSearched] += static_cast<double>(count.searched);
    measures_[UpdateView::kCompared] += static_cast<double>(count.compared);
    measures_[UpdateView::kRows] += static_cast<double>(ids.size());
    for (std::size_t i = 0; distances && i < ids.size(); ++i) {
      const double weight = job_.part->data.weights.empty()
                                ? 1.0
                                : job_.part->data.weights[static_cast<std::size_t>(ids[i])];
      exact_[static_cast<std::size_t>(labels[i])] += weight * distances_[i];
      if (weight > 0) far_.offer(distances_[i], ids[i]);
    }
  }

  void finish(const Grid& grid, ClusterSums& sums) {
    const auto K = static_cast<std::size_t>(round_.centers.K);
    const auto inertias = update_.subspan(static_cast<std::size_t>(view_.inertias()), K);
    read_sums(round_.centers.metric, round_.values, grid, sums, cells(sums),
              update_.first(sums_size()),
              update_.subspan(static_cast<std::size_t>(view_.weights()), K), inertias);
    if (round_.exact) std::copy(exact_.begin(), exact_.end(), inertias.begin());
  }

  const Round& round_;
  const Attachment& job_;
  const data::Shard& shard_;
  ShardCache& cache_;
  std::span<double> update_;
  UpdateView view_;
  double* measures_;
  FarRows far_;
  std::vector<double> exact_;  // inertia by cluster, from distances
  std::vector<double> distances_;
  AssignScratch scratch_;
};

}  // namespace

void work_on_shard(const Round& round, const Attachment& job, const data::Shard& shard,
                   ShardCache& cache, std::span<double> update) {
  if (shard.rows > 0) Work(round, job, shard, cache, update).run();
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
