// k-means as rounds. Returns centres such that, for a converged run, every centre is the mean of
// the rows nearest to it.
//
// How: a trial is seeding (several short rounds), then rounds of Lloyd's algorithm or mini-batches,
// then, if the centres moved in the last round, one more pass for the inertia of the final ones.
// With n_init trials the one of lowest inertia is kept.
//
// Invariants: the inertia of Lloyd rounds never rises. A cluster that lost all its rows keeps its
// centre for one round, in which the shards report their rows farthest from their centres, and
// moves to the farthest of those: by distance, then by row number, so that every worker agrees.
//
// Cost of a round: 2 N K D operations for distances, N D additions; an update of K (D + 2) doubles.
//
// S. Lloyd, "Least squares quantization in PCM" (1982); D. Sculley, "Web-scale k-means clustering"
// (2010) for mini-batches; G. Hamerly, "Making k-means even faster" (2010) for the bounds.
#include "meanwhile/learn/kmeans/kmeans.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"

namespace meanwhile::learn::kmeans {

using base::Error;
using base::ErrorKind;

KMeans::KMeans(const Parameters& parameters) : parameters_(parameters), metric_(parameters.metric) {
  validate(parameters);
  model_.metric = metric_;
  model_.n_clusters = parameters.n_clusters;
}

void KMeans::set_initial_centers(std::vector<double> centers, std::int64_t cols,
                                 std::vector<double> counts) {
  if (static_cast<std::int64_t>(centers.size()) != parameters_.n_clusters * cols) {
    throw Error(ErrorKind::kUsage,
                "initial centres: {} values are not n_clusters={} rows of {} columns",
                centers.size(), parameters_.n_clusters, cols);
  }
  if (metric_ == Metric::kCosine) {
    for (std::int64_t k = 0; k < parameters_.n_clusters; ++k) {
      const std::span<double> center(centers.data() + k * cols, static_cast<std::size_t>(cols));
      const double norm =
          std::sqrt(std::inner_product(center.begin(), center.end(), center.begin(), 0.0));
      if (!(norm > 0))
        throw Error(ErrorKind::kInput,
                    "initial centre {} is all zeros; under cosine it has no direction", k);
      for (double& value : center) value /= norm;
    }
  }
  model_.centers = std::move(centers);
  model_.counts = std::move(counts);
  model_.counts.resize(static_cast<std::size_t>(parameters_.n_clusters), 0.0);
  model_.cols = cols;
  progress_ = {};
  progress_.seeded = given_centers_ = true;
}

namespace {

std::int64_t rows_without_weight(const Attachment& job) {
  if (job.part->data.weights.empty()) return 0;
  std::int64_t count = 0;
  for (const data::Shard& shard : job.part->shards) {
    for (const data::RowRange& block : shard.blocks) {
      const double* weights = job.part->data.weights.data();
      count += std::count(weights + block.begin, weights + block.end, 0.0);
    }
  }
  return count;
}

}  // namespace

void KMeans::attach(const Attachment& attachment) {
  const data::Dataset& data = attachment.part->data;
  const std::int64_t rows = attachment.part->rows, cols = data::cols(data.x);
  if (rows == 0 || cols == 0)
    throw Error(ErrorKind::kInput, "k-means needs rows and columns; there are {} x {}", rows, cols);
  const std::int64_t K = parameters_.n_clusters;
  const auto best_cols = static_cast<std::int64_t>(best_.centers.size()) / K;
  const std::int64_t model_cols = progress_.seeded ? model_.cols : best_cols;  // 0: none yet
  if (model_cols != 0 && model_cols != cols) {
    throw Error(ErrorKind::kInput, "the centres have {}, the data has {}",
                base::counted(model_cols, "column"), cols);
  }
  // Weights of rows elsewhere are not known here: the worker that has them all notices. Equal rows
  // that are dealt as one still are several: clusters that find no row of their own stay empty.
  const bool merged = attachment.part->deal == data::Deal::kContent;
  const std::int64_t usable =
      merged ? attachment.part->read_rows : rows - rows_without_weight(attachment);
  // A continued mini-batch job may see few rows at a time; anything else needs a row a cluster.
  const bool continued = parameters_.batch_size > 0 && progress_.seeded;
  if (usable == 0) throw Error(ErrorKind::kInput, "every row has weight 0");
  if (parameters_.n_clusters > usable && !continued) {
    throw Error(ErrorKind::kUsage,
                "n_clusters is {}, but the data has only {}{}; ask for at most {}",
                parameters_.n_clusters, base::counted(usable, "row"),
                data.weights.empty() ? "" : " of positive weight", usable);
  }
  job_ = attachment;
  model_.cols = cols;
  model_.open = data.counts_from_one;
  if (given_centers_) starts_ = 1;
  if (starts_ == 0) starts_ = starts(parameters_, rows, attachment.part->stored);
  std::vector<data::RowRange> here;
  for (const data::Shard& shard : attachment.part->shards) {
    here.insert(here.end(), shard.blocks.begin(), shard.blocks.end());
  }
  spread_ = measure_spread(data.x, here, attachment.release);
  screen_ = fastest_screen();
  caches_.assign(attachment.part->shards.size(), {});
  allow_caches();
  start_trial();
}

// Caches are worth their memory, but the peak stays near the size of the data: labels and bounds
// take at most a tenth of it (or 32 MB), sums a twentieth (or 16 MB).
void KMeans::allow_caches() {
  const auto bytes = static_cast<double>(data::byte_size(job_.part->data));
  const auto rows = static_cast<double>(job_.part->rows);
  const double sums = 8.0 * static_cast<double>(parameters_.n_clusters * model_.cols) *
                      static_cast<double>(job_.part->shards.size());
  // Bounds are squared and rooted in float32, which wants numbers of ordinary size.
  const bool ordinary = spread_.range > 1e-15F && spread_.range < 1e15F;
  const bool sparse = spread_.shift.empty();
  round_.keep_rows =
      !job_.release && (ordinary || sparse) && 12 * rows <= std::max(32e6, bytes / 10);
  round_.keep_sums = round_.keep_rows && sums <= std::max(16e6, bytes / 20);
}

void KMeans::start_trial() {
  if (!progress_.seeded) {
    phase_ = Phase::kPrepare;
    const auto method = parameters_.init.named();
    if (!method) {
      throw Error(ErrorKind::kUsage, "init is the file '{}', but its centres were not given",
                  parameters_.init.text());
    }
    seeding_ = make_seeding(*method, {job_, metric_, parameters_.n_clusters, model_.cols,
                                      static_cast<std::uint32_t>(progress_.trial), spread_});
    if (interrupted_) seeding_->go_on(*interrupted_);
    interrupted_.reset();
    return;
  }
  phase_ = progress_.ended ? Phase::kScore : Phase::kTrain;
  prepare_round();
}

void KMeans::prepare_round() {
  round_.centers =
      prepare(job_.part->data.x, metric_, model_.centers, parameters_.n_clusters, spread_, screen_);
  round_.values = model_.centers;
  round_.far = phase_ == Phase::kTrain ? progress_.far : 0;
  round_.exact = phase_ == Phase::kScore;
  round_.batch = phase_ == Phase::kTrain ? parameters_.batch_size : 0;
  round_.seed = job_.seed;
  round_.number = static_cast<std::uint32_t>(progress_.rounds);
}

UpdateView KMeans::view() const {
  return {parameters_.n_clusters, model_.cols, static_cast<int>(job_.part->shards.size()),
          round_.far};
}

std::size_t KMeans::update_size() const {
  return phase_ == Phase::kPrepare ? seeding_->update_size() : view().size();
}

void KMeans::work(int shard, std::span<double> update) {
  if (phase_ == Phase::kPrepare) {
    seeding_->work(shard, update);
    return;
  }
  const auto s = static_cast<std::size_t>(shard);
  work_on_shard(round_, job_, job_.part->shards[s], caches_[s], update);
}

Outcome KMeans::absorb(std::span<const double> total) {
  if (phase_ == Phase::kPrepare) return absorb_seeding(total);
  choose_screen(total);
  if (phase_ == Phase::kScore) return absorb_score(total);
  return parameters_.batch_size > 0 ? absorb_batch(total) : absorb_lloyd(total);
}

Outcome KMeans::absorb_seeding(std::span<const double> total) {
  Outcome outcome;
  outcome.phase = Phase::kPrepare;
  if (seeding_->absorb(total)) {
    model_.centers = seeding_->take_centers();
    model_.counts.assign(static_cast<std::size_t>(parameters_.n_clusters), 0.0);
    seeding_.reset();
    progress_.seeded = true;
    start_trial();
  }
  return outcome;
}

// One more pass gives the inertia of the final centres, from distances.
void KMeans::end_training(Ended ended) {
  progress_.ended = std::move(ended);
  phase_ = Phase::kScore;
}

void KMeans::end_trial(double inertia, Outcome& outcome) {
  outcome.record["trial"] = progress_.trial;
  // A run that is resumed after its end has no best trial: its centres are those of the best.
  const bool better = best_.centers.empty() || inertia < best_.inertia;
  if (better) best_ = {model_.centers, model_.counts, inertia, progress_.round, progress_.ended};
  if (progress_.trial + 1 < starts_) {
    Progress next;
    next.trial = progress_.trial + 1;
    next.rounds = progress_.rounds;
    progress_ = next;
    for (ShardCache& cache : caches_) cache.labels.clear();
    start_trial();
    return;
  }
  model_.centers = std::move(best_.centers);
  model_.counts = std::move(best_.counts);
  progress_.round = best_.rounds;
  outcome.objective = best_.inertia;
  // A state of version 0.1.0 does not say how its best trial ended.
  const Ended ended = best_.ended ? best_.ended : progress_.ended;
  best_ = {};
  progress_.ended = {};
  outcome.ending = ended.ending;
  outcome.because = ended.because;
  if (starts_ > 1 && !parameters_.n_init.number) outcome.record["chosen"] = {{"n_init", starts_}};
}

std::int64_t KMeans::rounds_left() const { return rounds_left(std::max<std::int64_t>(1, starts_)); }

std::int64_t KMeans::rounds_left(std::int64_t starts) const {
  const std::int64_t more_trials = std::max<std::int64_t>(0, starts - 1 - progress_.trial);
  return std::max<std::int64_t>(0, parameters_.max_iter * (1 + more_trials) - progress_.round);
}

}  // namespace meanwhile::learn::kmeans
