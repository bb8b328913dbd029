// First centres, in rounds of work, sum and absorb like everything else, so that they too are the
// same on any runtime with any number of workers.
//
//   random      K rows drawn without replacement, by weight: the K smallest of -log(u) / weight
//   k-means++   Arthur and Vassilvitskii (2007), greedy: each new centre is the best of 2 + log K
//               rows drawn by weight and squared distance; two rounds a centre
//   k-means||   Bahmani et al. (2012): a few rounds that each draw about K rows at once; the drawn
//               rows are weighted by the rows nearest to them, and reduced to K centres by
//               k-means++ and Lloyd
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/learn/kmeans/assign.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::kmeans {

inline constexpr int kParallelDraws = 4;                  // of k-means||
inline constexpr int kRandomBits = 9, kRandomDigits = 7;  // of keys of random rows

struct SeedJob {
  Attachment job;
  Metric metric = Metric::kEuclidean;
  std::int64_t K = 0, D = 0;
  std::uint32_t trial = 0;  // which of n_init
  Spread spread;
};

// The carried state of a seeding that was interrupted.
struct Carried {
  std::vector<double> chosen, shown;
  Json numbers;
};

// Thread safety: as Learner.
class Seeding {
 public:
  virtual ~Seeding() = default;
  virtual std::size_t update_size() const = 0;
  virtual void work(int shard, std::span<double> update) = 0;
  // True when the centres are chosen.
  virtual bool absorb(std::span<const double> total) = 0;
  // K x D. REQUIRES: absorb() returned true.
  virtual std::vector<double> take_centers() = 0;

  // All that it carries from round to round: rows chosen so far, rows under consideration (both of
  // D columns), and numbers.
  virtual std::span<const double> chosen() const = 0;
  virtual std::span<const double> shown() const { return {}; }
  virtual Json numbers() const = 0;
  // Goes on from there. REQUIRES: nothing was absorbed. THROWS Error(kInput) for what no seeding of
  // this kind can have carried.
  virtual void go_on(const Carried& carried) = 0;
};

std::unique_ptr<Seeding> seed_random(const SeedJob& job);
std::unique_ptr<Seeding> seed_greedy(const SeedJob& job);
std::unique_ptr<Seeding> seed_parallel(const SeedJob& job);

std::unique_ptr<Seeding> make_seeding(InitMethod init, const SeedJob& job);

// Cost of the seeding, whatever the rows are.
std::vector<Stretch> seeding_course(InitMethod init, const Shape& shape, std::int64_t K);

// How far every row is from the nearest of the seeds chosen so far, kept shard by shard: 12 bytes a
// row, also where rows are released after use. To look at all seeds again for each new one would
// cost K / 2 times as much.
class SeedDistances {
 public:
  explicit SeedDistances(const SeedJob& job);

  // Adds n seeds, n x D.
  void add(std::span<const double> seeds, std::int64_t n);
  std::int64_t size() const { return total_; }

  struct Shard {
    std::vector<double> distances;      // to the nearest seed; 1 while there is none
    std::vector<std::int32_t> nearest;  // its number; -1 while there is none
    std::int64_t seen = 0;              // seeds looked at
  };
  // Brings shard up to date and returns it. Different shards may be asked for at the same time.
  const Shard& look(int shard);

 private:
  const SeedJob& job_;
  struct Batch {
    std::int64_t first;
    Prepared seeds;
  };
  std::vector<Batch> batches_;  // those that a shard here has not seen yet
  std::vector<Shard> shards_;
  std::int64_t total_ = 0;
};

// numbers[name] as a T, or as a list of at most `most` of them. THROW Error(kInput).
template <class T>
T carried_number(const Json& numbers, const char* name, T least, T most);
std::vector<double> carried_list(const Json& numbers, const char* name, std::size_t size);

// Weight of row i of the data.
inline double weight_of(const data::Dataset& data, std::int64_t i) {
  return data.weights.empty() ? 1.0 : data.weights[static_cast<std::size_t>(i)];
}

// Drawing rows by mass, where mass = weight * distance and masses[s] is the sum over shard s in its
// order of rows. The shard and what is left of `target` in it.
struct Drawn {
  int shard = 0;
  double rest = 0;
};
Drawn draw_shard(std::span<const double> masses, double target);
// The row of the shard at which the running mass passes `rest`; a row without mass is never drawn.
std::int64_t draw_row(const data::Dataset& data, const data::Shard& shard,
                      std::span<const double> distances, double rest);

// K of the n weighted points (n x D), by k-means++ and a few rounds of Lloyd, on one thread.
std::vector<double> reduce_points(const SeedJob& job, std::span<const double> points,
                                  std::span<const double> weights);

}  // namespace meanwhile::learn::kmeans
