#include "meanwhile/learn/kmeans/seeding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/kmeans/lloyd.h"

namespace meanwhile::learn::kmeans {

using base::Error;
using base::ErrorKind;

namespace {

constexpr double kLargeRowsTimesClusters = 2e7;  // from here on, auto means k-means||

InitMethod method_of(InitMethod init, std::int64_t rows, std::int64_t K) {
  if (rows < K) return InitMethod::kGreedy;  // the others need a row for each cluster
  if (init != InitMethod::kAuto) return init;
  const double size = static_cast<double>(rows) * static_cast<double>(K);
  return size > kLargeRowsTimesClusters ? InitMethod::kParallel : InitMethod::kGreedy;
}

}  // namespace

std::unique_ptr<Seeding> make_seeding(InitMethod init, const SeedJob& job) {
  const InitMethod method = method_of(init, job.job.part->rows, job.K);
  if (method == InitMethod::kRandom) return seed_random(job);
  if (method == InitMethod::kParallel) return seed_parallel(job);
  return seed_greedy(job);
}

std::vector<Stretch> seeding_course(InitMethod init, const Shape& shape, std::int64_t K) {
  const auto k = static_cast<double>(K), D = static_cast<double>(shape.cols);
  const auto stored = static_cast<double>(shape.stored);
  const InitMethod method = method_of(init, shape.rows, K);
  // `candidates` are compared with all rows in each of the rounds; `values` travel. Where there are
  // none, rows are drawn: about so many operations each.
  constexpr double kDraw = 35;
  const auto rounds = [&](double number, double candidates, double values) {
    Cost cost;
    cost.flops = candidates > 0 ? 2 * stored * candidates : kDraw * static_cast<double>(shape.rows);
    cost.bytes_read = candidates > 0 ? stored * (shape.sparse ? 8 : 4) : 0;
    cost.update_bytes = 8 * values;
    cost.absorb_bytes = cost.update_bytes;
    cost.kernel = candidates > 0 ? "kmeans" : "draw";
    cost.outputs = std::max(candidates, 1.0);
    return Stretch{Phase::kPrepare, number, cost};
  };
  // The smallest K keys are found digit by digit.
  if (method == InitMethod::kRandom) {
    return {rounds(kRandomDigits + 1, 0, 1 << kRandomBits), rounds(1, 0, k * D)};
  }
  // Three rounds a draw of about K rows, of which one compares and one shows; then the weights.
  if (method == InitMethod::kParallel) {
    return {rounds(kParallelDraws + 1, k, 0), rounds(2 * kParallelDraws, 0, k * D / 2)};
  }
  const double tries = 2 + std::floor(std::log(k));
  return {rounds(k, tries, 0), rounds(k, 0, tries * D)};
}

template <class T>
T carried_number(const Json& numbers, const char* name, T least, T most) {
  if (numbers.is_object() && numbers.contains(name) && numbers[name].is_number()) {
    const T value = numbers[name].get<T>();
    if (value >= least && value <= most) return value;
  }
  throw Error(ErrorKind::kInput, "not a k-means model: its seeding has no right '{}'", name);
}
template int carried_number<int>(const Json&, const char*, int, int);
template std::int64_t carried_number<std::int64_t>(const Json&, const char*, std::int64_t,
                                                   std::int64_t);
template std::uint64_t carried_number<std::uint64_t>(const Json&, const char*, std::uint64_t,
                                                     std::uint64_t);
template double carried_number<double>(const Json&, const char*, double, double);

std::vector<double> carried_list(const Json& numbers, const char* name, std::size_t size) {
  std::vector<double> values;
  if (numbers.is_object() && numbers.contains(name) && numbers[name].is_array()) {
    for (const Json& value : numbers[name]) {
      if (value.is_number()) values.push_back(value.get<double>());
    }
    const auto good = [](double value) { return std::isfinite(value) && value >= 0; };
    if (values.size() == size && std::all_of(values.begin(), values.end(), good)) return values;
  }
  throw Error(ErrorKind::kInput, "not a k-means model: its seeding has no {} right '{}'", size,
              name);
}

SeedDistances::SeedDistances(const SeedJob& job)
    : job_(job), shards_(job.job.part->shards.size()) {}

void SeedDistances::add(std::span<const double> seeds, std::int64_t n) {
  // Once every shard here has looked at a batch it is not needed again.
  std::int64_t seen = total_;
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    if (!job_.job.part->shards[s].blocks.empty()) seen = std::min(seen, shards_[s].seen);
  }
  std::erase_if(batches_, [&](const Batch& batch) { return batch.first + batch.seeds.K <= seen; });
  batches_.push_back({total_, prepare(job_.job.part->data.x, job_.metric, seeds, n, job_.spread,
                                      fastest_screen())});
  total_ += n;
}

const SeedDistances::Shard& SeedDistances::look(int shard) {
  Shard& known = shards_[static_cast<std::size_t>(shard)];
  const data::Shard& rows = job_.job.part->shards[static_cast<std::size_t>(shard)];
  if (known.distances.empty()) {
    known.distances.assign(static_cast<std::size_t>(rows.rows), 1.0);
    known.nearest.assign(static_cast<std::size_t>(rows.rows), -1);
    known.seen = 0;
  }
  AssignScratch scratch;
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> labels;
  std::vector<double> distances;
  for (const Batch& batch : batches_) {
    if (batch.first < known.seen) continue;
    std::size_t at = 0;
    for (const data::RowRange& block : rows.blocks) {
      ids.resize(static_cast<std::size_t>(block.end - block.begin));
      std::iota(ids.begin(), ids.end(), block.begin);
      labels.assign(ids.size(), -1);
      distances.resize(ids.size());
      assign(job_.job.part->data.x, batch.seeds, nullptr,
             {ids, labels.data(), distances.data(), nullptr, nullptr}, scratch);
      for (std::size_t i = 0; i < ids.size(); ++i, ++at) {
        if (known.nearest[at] >= 0 && !(distances[i] < known.distances[at])) continue;
        known.distances[at] = distances[i];
        known.nearest[at] = static_cast<std::int32_t>(batch.first) + labels[i];
      }
      job_.job.leave(block);
    }
    known.seen = batch.first + batch.seeds.K;
  }
  return known;
}

Drawn draw_shard(std::span<const double> masses, double target) {
  Drawn drawn;
  for (std::size_t s = 0; s < masses.size(); ++s) {
    if (!(masses[s] > 0)) continue;
    drawn = {static_cast<int>(s), target};
    if (target < masses[s]) return drawn;
    target -= masses[s];
  }
  return drawn;  // rounding: the last with mass
}

std::int64_t draw_row(const data::Dataset& data, const data::Shard& shard,
                      std::span<const double> distances, double rest) {
  double mass = 0;
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < shard.rows; ++i) {
    const std::int64_t row = row_of(shard, i);
    const double here = weight_of(data, row) * distances[static_cast<std::size_t>(i)];
    if (!(here > 0)) continue;
    mass += here;
    last = row;
    if (mass > rest) return row;
  }
  return last;
}

}  // namespace meanwhile::learn::kmeans
