// Absorbs the summed updates of a round of k-means: the next centres, the treatment of empty
// clusters, whether to stop, and the record.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/kmeans/kmeans.h"

namespace meanwhile::learn::kmeans {

namespace {

constexpr std::int64_t kMaxFar = 32;          // rows a shard reports for empty clusters in a round
constexpr std::int64_t kMaxSinceLowest = 10;  // mini-batches without progress before stopping
// Gaps between centres cost K^2 D / 2; worth it where that is little beside N K D.
constexpr std::int64_t kRowsPerClusterForGaps = 1000;

double distance(std::span<const double> a, std::span<const double> b) {
  double squared = 0;
  for (std::size_t j = 0; j < a.size(); ++j) squared += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(squared);
}

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

std::string KMeans::converged() const {
  return fmt::format(
      "converged: no centre moved by more than tol={} of the root-mean-square distance",
      parameters_.tol);
}

std::string KMeans::slowed() const {
  return fmt::format("converged: squared moves of the centres add up to no more than shift_tol={}",
                     parameters_.shift_tol);
}

Ended KMeans::ran_out() const {
  return {Ending::kRanOut, fmt::format("max_iter={} reached", parameters_.max_iter)};
}

Outcome KMeans::absorb_lloyd(std::span<const double> total) {
  const UpdateView v = view();
  const std::int64_t K = parameters_.n_clusters;
  const auto weights =
      total.subspan(static_cast<std::size_t>(v.weights()), static_cast<std::size_t>(K));
  const double inertia =
      sum(total.subspan(static_cast<std::size_t>(v.inertias()), static_cast<std::size_t>(K)));
  const double weight = sum(weights);
  std::vector<double> shifts = move_centers(metric_, v, total, K, model_.cols, model_.centers);
  model_.counts.assign(weights.begin(), weights.end());

  std::int64_t empty = std::count(weights.begin(), weights.end(), 0.0);
  const bool asked = progress_.far > 0;
  const std::int64_t relocated = asked ? relocate(total, empty, shifts) : 0;
  // Rows that could not be found this time will not be found next time: they lie on centres.
  const bool hopeless = asked && relocated == 0;
  progress_.far = hopeless ? 0 : std::min(empty - relocated, kMaxFar);

  const double shift = take_drift(shifts);
  const double moved = std::inner_product(shifts.begin(), shifts.end(), shifts.begin(), 0.0);
  ++progress_.round;
  ++progress_.rounds;
  Outcome outcome;
  outcome.objective = inertia;
  outcome.record = record(total, shift);
  outcome.record["empty"] = empty;
  outcome.record["relocated"] = relocated;

  const double mean = metric_ == Metric::kEuclidean ? inertia / weight : 2 * inertia / weight;
  const bool still = shift <= parameters_.tol * std::sqrt(mean);
  const bool slow = parameters_.shift_tol > 0 && moved <= parameters_.shift_tol;
  if ((still || slow) && progress_.far == 0) {
    end_training({Ending::kConverged, shift == 0 ? "converged: no centre moved"
                                      : still    ? converged()
                                                 : slowed()});
  } else if (progress_.round >= parameters_.max_iter) {
    end_training(ran_out());
  }
  prepare_round();
  return outcome;
}

// Moves empty clusters, lowest number first, to the rows farthest from their centres. Returns how
// many were moved.
std::int64_t KMeans::relocate(std::span<const double> total, std::int64_t empty,
                              std::vector<double>& shifts) {
  const UpdateView v = view();
  struct Far {
    double distance;
    int shard;
    double row;
    std::int64_t at;
  };
  std::vector<Far> rows;
  // Rows dealt by content are numbered shard by shard, on every worker from its own first shard on.
  const auto shard_of = [&](int s) { return job_.part->deal == data::Deal::kContent ? s : 0; };
  for (int s = 0; s < static_cast<int>(job_.part->shards.size()); ++s) {
    for (std::int64_t i = 0; i < round_.far; ++i) {
      const std::int64_t at = v.far_row(s, i);
      const double row = total[static_cast<std::size_t>(at + 1)];
      if (row > 0) rows.push_back({total[static_cast<std::size_t>(at)], shard_of(s), row, at + 2});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Far& a, const Far& b) {
    return std::tuple(b.distance, a.shard, a.row) < std::tuple(a.distance, b.shard, b.row);
  });
  std::int64_t moved = 0;
  for (std::int64_t k = 0; k < parameters_.n_clusters && moved < empty; ++k) {
    if (model_.counts[static_cast<std::size_t>(k)] > 0) continue;
    if (moved == static_cast<std::int64_t>(rows.size())) break;
    const double* row = total.data() + rows[static_cast<std::size_t>(moved++)].at;
    shifts[static_cast<std::size_t>(k)] = move_center(center(k), row);
  }
  return moved;
}

// Sets what the bounds need to know of the last move; returns the largest move of a centre.
double KMeans::take_drift(const std::vector<double>& shifts) {
  const std::int64_t K = parameters_.n_clusters;
  double first = 0, second = 0;  // the two largest moves
  std::int64_t fastest = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    const double moved = shifts[static_cast<std::size_t>(k)];
    if (moved > first) {
      second = first;
      first = moved;
      fastest = k;
    } else {
      second = std::max(second, moved);
    }
  }
  constexpr double kUp = 1 + 0x1p-20, kDown = 1 - 0x1p-20;  // float32 bounds err on the safe side
  std::vector<Drift::Cluster>& clusters = round_.drift.clusters;
  clusters.assign(static_cast<std::size_t>(K), {});
  for (std::int64_t k = 0; k < K; ++k) {
    Drift::Cluster& cluster = clusters[static_cast<std::size_t>(k)];
    cluster.own = static_cast<float>(shifts[static_cast<std::size_t>(k)] * kUp);
    cluster.others = static_cast<float>((k == fastest ? second : first) * kUp);
  }
  if (K > 1 && K * kRowsPerClusterForGaps <= job_.part->rows && round_.keep_rows) {
    std::vector<double> gap(static_cast<std::size_t>(K), std::numeric_limits<double>::infinity());
    for (std::int64_t a = 0; a < K; ++a) {
      for (std::int64_t b = a + 1; b < K; ++b) {
        const double between = distance(center(a), center(b));
        gap[static_cast<std::size_t>(a)] = std::min(gap[static_cast<std::size_t>(a)], between);
        gap[static_cast<std::size_t>(b)] = std::min(gap[static_cast<std::size_t>(b)], between);
      }
    }
    for (std::size_t k = 0; k < gap.size(); ++k) {
      clusters[k].half_gap = static_cast<float>(std::min(gap[k] / 2 * kDown, 1e18));
    }
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
  std::vector<double> shifts(static_cast<std::size_t>(K), 0.0), next(static_cast<std::size_t>(D));
  for (std::int64_t k = 0; k < K; ++k) {
    const double here = weights[static_cast<std::size_t>(k)];
    if (!(here > 0)) continue;
    double& count = model_.counts[static_cast<std::size_t>(k)];
    count += here;
    for (std::size_t j = 0; j < next.size(); ++j) {
      const double old = center(k)[j];
      next[j] = old + (total[static_cast<std::size_t>(k * D) + j] - here * old) / count;
    }
    if (metric_ == Metric::kCosine) {
      const double norm =
          std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
      for (double& value : next) value /= norm > 0 ? norm : 1;
    }
    shifts[static_cast<std::size_t>(k)] = move_center(center(k), next.data());
  }
  const double shift = take_drift(shifts);
  ++progress_.round;
  ++progress_.rounds;

  // The inertia of a batch is noisy: smoothed over about one pass through the data, as scikit-learn
  // does, and stopped when that has not fallen for a while.
  Outcome outcome;
  const double rows = static_cast<double>(job_.part->rows);
  const double mean = weight > 0 ? inertia / weight : 0;
  const double alpha = std::min(1.0, 2 * static_cast<double>(parameters_.batch_size) / (rows + 1));
  progress_.smoothed =
      progress_.smoothed < 0 ? mean : progress_.smoothed * (1 - alpha) + mean * alpha;
  const bool lower = progress_.lowest < 0 || progress_.smoothed < progress_.lowest;
  if (lower) progress_.lowest = progress_.smoothed;
  progress_.since_lowest = lower ? 0 : progress_.since_lowest + 1;

  // The objective is for rows that all weigh 1: no worker knows the weights of all.
  outcome.objective = progress_.smoothed * rows;
  outcome.record = record(total, shift);
  const double scale = metric_ == Metric::kEuclidean ? mean : 2 * mean;
  if (shift <= parameters_.tol * std::sqrt(scale)) {
    end_training({Ending::kConverged, converged()});
  } else if (progress_.since_lowest >= kMaxSinceLowest) {
    end_training(
        {Ending::kStopped,
         fmt::format("the smoothed inertia has not fallen for {} batches", kMaxSinceLowest)});
  } else if (progress_.round >= parameters_.max_iter) {
    end_training(ran_out());
  }
  prepare_round();
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

}  // namespace meanwhile::learn::kmeans
