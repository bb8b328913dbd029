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

#include "meanwhile/base/error.h"

namespace meanwhile::learn::kmeans {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kMaxFar = 32;          // rows a shard reports for empty clusters in a round
constexpr std::int64_t kMaxSinceLowest = 10;  // mini-batches without progress before stopping
// Gaps between centres cost K^2 D / 2; worth it where that is little beside N K D.
constexpr std::int64_t kRowsPerClusterForGaps = 1000;

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

KMeans::KMeans(const Parameters& parameters)
    : parameters_(parameters),
      metric_(parameters.metric == "cosine" ? Metric::kCosine : Metric::kEuclidean) {
  validate(parameters);
  model_.metric = metric_;
  model_.n_clusters = parameters.n_clusters;
}

void KMeans::set_initial_centers(std::vector<double> centers, std::int64_t cols) {
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
  model_.counts.assign(static_cast<std::size_t>(parameters_.n_clusters), 0.0);
  model_.cols = cols;
  progress_ = {};
  progress_.seeded = given_centers_ = true;
}

void KMeans::attach(const Attachment& attachment) {
  const data::Dataset& data = *attachment.data;
  const std::int64_t rows = data::rows(data.x), cols = data::cols(data.x);
  if (rows == 0 || cols == 0)
    throw Error(ErrorKind::kInput, "k-means needs rows and columns; there are {} x {}", rows, cols);
  if (progress_.seeded && model_.cols != cols) {
    throw Error(ErrorKind::kInput, "the centres have {} columns, the data has {}", model_.cols,
                cols);
  }
  const std::int64_t usable =
      data.weights.empty() ? rows
                           : rows - std::count(data.weights.begin(), data.weights.end(), 0.0);
  // A continued mini-batch job may see few rows at a time; anything else needs a row a cluster.
  const bool continued = parameters_.batch_size > 0 && progress_.seeded;
  if (usable == 0) throw Error(ErrorKind::kInput, "every row has weight 0");
  if (parameters_.n_clusters > usable && !continued) {
    throw Error(
        ErrorKind::kUsage, "n_clusters is {}, but there are only {} rows{}; ask for at most {}",
        parameters_.n_clusters, usable, data.weights.empty() ? "" : " of positive weight", usable);
  }
  job_ = attachment;
  model_.cols = cols;
  spread_ = measure_spread(data.x);
  screen_ = fastest_screen();
  caches_.assign(attachment.shards.size(), {});
  start_trial();
}

void KMeans::start_trial() {
  if (!progress_.seeded) {
    phase_ = Phase::kSeed;
    seeding_ =
        make_seeding(parameters_.init, {job_, metric_, parameters_.n_clusters, model_.cols,
                                        static_cast<std::uint32_t>(progress_.trial), spread_});
    return;
  }
  phase_ = Phase::kTrain;
  prepare_round();
}

void KMeans::prepare_round() {
  round_.centers =
      prepare(job_.data->x, metric_, model_.centers, parameters_.n_clusters, spread_, screen_);
  round_.far = progress_.far;
  round_.batch = phase_ == Phase::kTrain ? parameters_.batch_size : 0;
  round_.seed = job_.seed;
  round_.number = static_cast<std::uint32_t>(progress_.rounds);
}

UpdateView KMeans::view() const {
  return {parameters_.n_clusters, model_.cols, static_cast<int>(job_.shards.size()), round_.far};
}

std::size_t KMeans::update_size() const {
  return phase_ == Phase::kSeed ? seeding_->update_size() : view().size();
}

void KMeans::work(int shard, std::span<double> update) {
  if (phase_ == Phase::kSeed) {
    seeding_->work(shard, update);
    return;
  }
  const auto s = static_cast<std::size_t>(shard);
  work_on_shard(round_, job_, job_.shards[s], job_.release ? nullptr : &caches_[s], update);
}

Outcome KMeans::absorb(std::span<const double> total) {
  if (phase_ == Phase::kSeed) return absorb_seeding(total);
  choose_screen(total);
  if (phase_ == Phase::kScore) return absorb_score(total);
  return parameters_.batch_size > 0 ? absorb_batch(total) : absorb_lloyd(total);
}

Outcome KMeans::absorb_seeding(std::span<const double> total) {
  Outcome outcome;
  outcome.phase = Phase::kSeed;
  if (seeding_->absorb(total)) {
    model_.centers = seeding_->take_centers();
    model_.counts.assign(static_cast<std::size_t>(parameters_.n_clusters), 0.0);
    seeding_.reset();
    progress_.seeded = true;
    start_trial();
  }
  return outcome;
}

Outcome KMeans::absorb_lloyd(std::span<const double> total) {
  const UpdateView v = view();
  const std::int64_t K = parameters_.n_clusters;
  const auto weights =
      total.subspan(static_cast<std::size_t>(v.weights()), static_cast<std::size_t>(K));
  const double inertia =
      sum(total.subspan(static_cast<std::size_t>(v.inertias()), static_cast<std::size_t>(K)));
  const double weight = sum(weights);
  const std::vector<double> old = model_.centers;
  move_centers(metric_, v, total, K, model_.cols, model_.centers);
  model_.counts.assign(weights.begin(), weights.end());

  std::int64_t empty = std::count(weights.begin(), weights.end(), 0.0);
  const bool asked = progress_.far > 0;
  const std::int64_t relocated = asked ? relocate(total, empty) : 0;
  // Rows that could not be found this time will not be found next time: they lie on centres.
  const bool hopeless = asked && relocated == 0;
  progress_.far = hopeless ? 0 : std::min(empty - relocated, kMaxFar);

  const double shift = take_drift(old);
  ++progress_.round;
  ++progress_.rounds;
  Outcome outcome;
  outcome.objective = inertia;
  outcome.record = record(total, shift);
  outcome.record["empty"] = empty;
  outcome.record["relocated"] = relocated;

  const double mean = metric_ == Metric::kEuclidean ? inertia / weight : 2 * inertia / weight;
  const bool still = shift <= parameters_.tol * std::sqrt(mean);
  if (still && progress_.far == 0) {
    end_training(shift == 0 ? "converged: no centre moved"
                            : fmt::format("converged: no centre moved by more than tol={} of the "
                                          "root-mean-square distance",
                                          parameters_.tol),
                 shift > 0, inertia, outcome);
  } else if (progress_.round >= parameters_.max_iter) {
    end_training(fmt::format("max_iter={} reached", parameters_.max_iter), true, inertia, outcome);
  }
  if (!outcome.done && phase_ != Phase::kSeed) prepare_round();
  return outcome;
}

// Moves empty clusters, lowest number first, to the rows farthest from their centres. Returns how
// many were moved.
std::int64_t KMeans::relocate(std::span<const double> total, std::int64_t empty) {
  const UpdateView v = view();
  struct Far {
    double distance, row;
    std::int64_t at;
  };
  std::vector<Far> rows;
  for (int s = 0; s < static_cast<int>(job_.shards.size()); ++s) {
    for (std::int64_t i = 0; i < round_.far; ++i) {
      const std::int64_t at = v.far_row(s, i);
      const double row = total[static_cast<std::size_t>(at + 1)];
      if (row > 0) rows.push_back({total[static_cast<std::size_t>(at)], row, at + 2});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Far& a, const Far& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  });
  std::int64_t moved = 0;
  for (std::int64_t k = 0; k < parameters_.n_clusters && moved < empty; ++k) {
    if (model_.counts[static_cast<std::size_t>(k)] > 0) continue;
    if (moved == static_cast<std::int64_t>(rows.size())) break;
    const double* row = total.data() + rows[static_cast<std::size_t>(moved++)].at;
    std::copy_n(row, model_.cols, model_.centers.begin() + k * model_.cols);
  }
  return moved;
}

// Sets what the bounds need to know of the last move; returns the largest move of a centre.
double KMeans::take_drift(const std::vector<double>& old) {
  const std::int64_t K = parameters_.n_clusters, D = model_.cols;
  const auto distance = [D](const double* a, const double* b) {
    double squared = 0;
    for (std::int64_t j = 0; j < D; ++j) squared += (a[j] - b[j]) * (a[j] - b[j]);
    return std::sqrt(squared);
  };
  double first = 0, second = 0;  // the two largest moves
  std::int64_t fastest = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    const double moved = distance(model_.centers.data() + k * D, old.data() + k * D);
    if (moved > first) {
      second = first;
      first = moved;
      fastest = k;
    } else {
      second = std::max(second, moved);
    }
  }
  constexpr double kUp = 1 + 0x1p-20, kDown = 1 - 0x1p-20;  // float32 bounds err on the safe side
  round_.drift.others.assign(static_cast<std::size_t>(K), static_cast<float>(first * kUp));
  round_.drift.others[static_cast<std::size_t>(fastest)] = static_cast<float>(second * kUp);
  round_.drift.half_gap.clear();
  if (K > 1 && K * kRowsPerClusterForGaps <= data::rows(job_.data->x) && !job_.release) {
    std::vector<double> gap(static_cast<std::size_t>(K), std::numeric_limits<double>::infinity());
    for (std::int64_t a = 0; a < K; ++a) {
      for (std::int64_t b = a + 1; b < K; ++b) {
        const double between =
            distance(model_.centers.data() + a * D, model_.centers.data() + b * D);
        gap[static_cast<std::size_t>(a)] = std::min(gap[static_cast<std::size_t>(a)], between);
        gap[static_cast<std::size_t>(b)] = std::min(gap[static_cast<std::size_t>(b)], between);
      }
    }
    for (const double between : gap)
      round_.drift.half_gap.push_back(static_cast<float>(between / 2 * kDown));
  }
  return first;
}

Outcome KMeans::absorb_batch(std::span<const double> total) {
  const UpdateView v = view();
  const std::int64_t K = parameters_.n_clusters, D = model_.cols;
  const auto weights =
      total.subspan(static_cast<std::size_t>(v.weights()), static_cast<std::size_t>(K));
  const double inertia =
      sum(total.subspan(static_cast<std::size_t>(v.inertias()), static_cast<std::size_t>(K)));
  const double weight = sum(weights);
  const std::vector<double> old = model_.centers;
  for (std::int64_t k = 0; k < K; ++k) {
    const double here = weights[static_cast<std::size_t>(k)];
    if (!(here > 0)) continue;
    double& count = model_.counts[static_cast<std::size_t>(k)];
    count += here;
    double norm2 = 0;
    for (std::int64_t j = 0; j < D; ++j) {
      double& center = model_.centers[static_cast<std::size_t>(k * D + j)];
      center += (total[static_cast<std::size_t>(k * D + j)] - here * center) / count;
      norm2 += center * center;
    }
    if (metric_ == Metric::kCosine && norm2 > 0) {
      for (std::int64_t j = 0; j < D; ++j)
        model_.centers[static_cast<std::size_t>(k * D + j)] /= std::sqrt(norm2);
    }
  }
  const double shift = take_drift(old);
  ++progress_.round;
  ++progress_.rounds;

  // The inertia of a batch is noisy: smoothed over about one pass through the data, as scikit-learn
  // does, and stopped when that has not fallen for a while.
  Outcome outcome;
  const double rows = static_cast<double>(data::rows(job_.data->x));
  const double mean = weight > 0 ? inertia / weight : 0;
  const double alpha = std::min(1.0, 2 * static_cast<double>(parameters_.batch_size) / (rows + 1));
  progress_.smoothed =
      progress_.smoothed < 0 ? mean : progress_.smoothed * (1 - alpha) + mean * alpha;
  const bool lower = progress_.lowest < 0 || progress_.smoothed < progress_.lowest;
  if (lower) progress_.lowest = progress_.smoothed;
  progress_.since_lowest = lower ? 0 : progress_.since_lowest + 1;

  const double whole = job_.data->weights.empty() ? rows : sum(job_.data->weights);
  outcome.objective = progress_.smoothed * whole;
  outcome.record = record(total, shift);
  const double scale = metric_ == Metric::kEuclidean ? mean : 2 * mean;
  if (shift <= parameters_.tol * std::sqrt(scale)) {
    end_training(fmt::format("converged: no centre moved by more than tol={} of the "
                             "root-mean-square distance",
                             parameters_.tol),
                 true, 0, outcome);
  } else if (progress_.since_lowest >= kMaxSinceLowest) {
    end_training(fmt::format("the smoothed inertia has not fallen for {} batches", kMaxSinceLowest),
                 true, 0, outcome);
  } else if (progress_.round >= parameters_.max_iter) {
    end_training(fmt::format("max_iter={} reached", parameters_.max_iter), true, 0, outcome);
  }
  if (!outcome.done && phase_ != Phase::kSeed) prepare_round();
  return outcome;
}

Outcome KMeans::absorb_score(std::span<const double> total) {
  const UpdateView v = view();
  const auto K = static_cast<std::size_t>(parameters_.n_clusters);
  Outcome outcome;
  outcome.phase = Phase::kScore;
  outcome.objective = sum(total.subspan(static_cast<std::size_t>(v.inertias()), K));
  outcome.record = record(total, 0);
  const auto weights = total.subspan(static_cast<std::size_t>(v.weights()), K);
  outcome.record["empty"] = std::count(weights.begin(), weights.end(), 0.0);
  // Mini-batches count every row they ever saw, which is what the next batch goes on from.
  if (parameters_.batch_size == 0) model_.counts.assign(weights.begin(), weights.end());
  end_trial(outcome.objective, outcome);
  return outcome;
}

Json KMeans::record(std::span<const double> total, double shift) const {
  const UpdateView v = view();
  const double* measures = total.data() + v.measures();
  Json json;
  if (phase_ == Phase::kTrain) {
    // How many rows moved is known where the labels of the last round are.
    const bool known = measures[UpdateView::kKnown] > 0 &&
                       measures[UpdateView::kKnown] == measures[UpdateView::kRows];
    json["moved"] =
        known ? Json(static_cast<std::int64_t>(measures[UpdateView::kMoved])) : Json(nullptr);
    json["shift"] = shift;
  }
  Json sizes = Json::array();
  for (std::int64_t k = 0; k < parameters_.n_clusters; ++k)
    sizes.push_back(total[static_cast<std::size_t>(v.weights() + k)]);
  json["sizes"] = std::move(sizes);
  json["rows_searched"] = static_cast<std::int64_t>(measures[UpdateView::kSearched]);
  json["exact_comparisons"] = static_cast<std::int64_t>(measures[UpdateView::kCompared]);
  json["screen"] = round_.centers.dense.screen == Screen::kInt8 ? "int8" : "float32";
  if (round_.centers.dense.exact.empty()) json["screen"] = "none";
  return json;
}

// The 8-bit screen is four times as quick as float32 but leaves more to compare exactly; an exact
// comparison costs about what it saves on 25 centres. Affects speed only.
void KMeans::choose_screen(std::span<const double> total) {
  const double* measures = total.data() + view().measures();
  const double searched = measures[UpdateView::kSearched],
               compared = measures[UpdateView::kCompared];
  const double worth = 1 + static_cast<double>(parameters_.n_clusters) / 25;
  if (compared > searched * worth) screen_ = Screen::kFloat32;
}

void KMeans::end_training(std::string because, bool moved, double inertia, Outcome& outcome) {
  because_ = std::move(because);
  if (moved) {
    phase_ = Phase::kScore;
    progress_.far = 0;
    return;
  }
  end_trial(inertia, outcome);
}

void KMeans::end_trial(double inertia, Outcome& outcome) {
  outcome.record["trial"] = progress_.trial;
  const bool better = progress_.trial == 0 || inertia < best_.inertia;
  if (better) best_ = {model_.centers, model_.counts, inertia, progress_.round};
  if (progress_.trial + 1 < parameters_.n_init && !given_centers_) {
    Progress next;
    next.trial = progress_.trial + 1;
    next.rounds = progress_.rounds;
    progress_ = next;
    caches_.assign(job_.shards.size(), {});
    start_trial();
    return;
  }
  model_.centers = std::move(best_.centers);
  model_.counts = std::move(best_.counts);
  progress_.round = best_.rounds;
  outcome.done = true;
  outcome.objective = best_.inertia;
  best_ = {};
  outcome.because = because_;
}

std::int64_t KMeans::rounds_left() const {
  const std::int64_t more_trials = given_centers_ ? 0 : parameters_.n_init - 1 - progress_.trial;
  return parameters_.max_iter * (1 + more_trials) - progress_.round;
}

Cost KMeans::cost(const Shape& shape) const {
  const auto stored = static_cast<double>(shape.stored), rows = static_cast<double>(shape.rows);
  const auto K = static_cast<double>(parameters_.n_clusters), D = static_cast<double>(shape.cols);
  const double share =
      parameters_.batch_size > 0 ? static_cast<double>(parameters_.batch_size) / rows : 1;
  return {share * (2 * stored * K + 4 * stored), share * stored * 4, 8 * K * (D + 2)};
}

}  // namespace meanwhile::learn::kmeans
