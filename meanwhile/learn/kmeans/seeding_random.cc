// K rows without replacement, each with probability by weight (Efraimidis and Spirakis, 2006): row
// i draws the key -log(u_i) / w_i, and the K smallest keys win. The K-th smallest is found by radix
// selection on the bits of the keys, kBits a round, from histograms that add over shards; then one
// round counts the winners of each shard and one collects them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/kmeans/lloyd.h"
#include "meanwhile/learn/kmeans/seeding.h"

namespace meanwhile::learn::kmeans {

namespace {

class RandomSeeding final : public Seeding {
 public:
  explicit RandomSeeding(const SeedJob& job) : job_(job), left_(job.K) {}

  std::size_t update_size() const override {
    if (shift_ > 0) return std::size_t{1} << kBits;
    if (counts_.empty()) return job_.job.part->shards.size();
    return static_cast<std::size_t>(total_ * job_.D);
  }

  void work(int shard, std::span<double> update) override {
    const data::Shard& rows = job_.job.part->shards[static_cast<std::size_t>(shard)];
    std::int64_t at = counts_.empty() ? 0 : counts_[static_cast<std::size_t>(shard)];
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const std::uint64_t key = key_of(shard, rows, i);
      if (shift_ > 0) {
        if (key >> shift_ == found_) {
          ++update[static_cast<std::size_t>((key >> (shift_ - kBits)) & ((1U << kBits) - 1))];
        }
      } else if (key <= found_ && counts_.empty()) {
        ++update[static_cast<std::size_t>(shard)];
      } else if (key <= found_) {
        copy_row(job_.job.part->data.x, job_.metric, row_of(rows, i),
                 update.subspan(static_cast<std::size_t>(at++ * job_.D),
                                static_cast<std::size_t>(job_.D)));
      }
    }
  }

  bool absorb(std::span<const double> total) override {
    if (shift_ > 0) {
      std::uint64_t digit = 0;
      while (left_ > static_cast<std::int64_t>(total[digit]))
        left_ -= static_cast<std::int64_t>(total[digit++]);
      found_ = found_ << kBits | digit;
      shift_ -= kBits;
      return false;
    }
    if (counts_.empty()) {
      for (const double count : total) {
        counts_.push_back(total_);
        total_ += static_cast<std::int64_t>(count);
      }
      return false;
    }
    // Equal keys can make more than K winners; the first K of them are as good as any.
    centers_.assign(total.begin(), total.begin() + job_.K * job_.D);
    return true;
  }

  std::vector<double> take_centers() override { return std::move(centers_); }

  std::span<const double> chosen() const override { return {}; }
  Json numbers() const override {
    return {{"shift", shift_},
            {"found", found_},
            {"left", left_},
            {"total", total_},
            {"counts", counts_}};
  }
  void go_on(const Carried& carried) override {
    const Json& numbers = carried.numbers;
    const std::int64_t rows = job_.job.part->rows;
    shift_ = carried_number(numbers, "shift", 0, kBits * kRounds) / kBits * kBits;
    found_ = carried_number<std::uint64_t>(numbers, "found", 0, std::uint64_t{1} << 63);
    left_ = carried_number<std::int64_t>(numbers, "left", 0, rows);
    total_ = carried_number<std::int64_t>(numbers, "total", 0, rows);
    if (total_ == 0) return;
    if (total_ < job_.K || shift_ != 0) {
      throw base::Error(base::ErrorKind::kInput, "not a k-means model: {} of {} seeds", total_,
                        job_.K);
    }
    for (const double count : carried_list(numbers, "counts", job_.job.part->shards.size())) {
      counts_.push_back(std::min(total_, static_cast<std::int64_t>(count)));
    }
  }

 private:
  static constexpr int kBits = kRandomBits, kRounds = kRandomDigits;

  // Keys are positive doubles, whose bits are in the order of their values. A row of weight 0 has
  // the largest key there is.
  std::uint64_t key_of(int shard, const data::Shard& rows, std::int64_t i) const {
    const double weight = weight_of(job_.job.part->data, row_of(rows, i));
    if (!(weight > 0)) return std::numeric_limits<std::uint64_t>::max() >> 1;
    const base::Random random(job_.job.seed, base::Purpose::kSeeding,
                              static_cast<std::uint32_t>(shard), job_.trial << 16);
    return std::bit_cast<std::uint64_t>(
        -std::log1p(-random.uniform(static_cast<std::uint64_t>(i))) / weight);
  }

  SeedJob job_;
  int shift_ = kBits * kRounds;       // bits of the key still unknown
  std::uint64_t found_ = 0;           // the known bits of the K-th smallest key
  std::int64_t left_;                 // winners among keys that share the known bits
  std::vector<std::int64_t> counts_;  // by shard: winners before it
  std::int64_t total_ = 0;
  std::vector<double> centers_;
};

}  // namespace

std::unique_ptr<Seeding> seed_random(const SeedJob& job) {
  return std::make_unique<RandomSeeding>(job);
}

}  // namespace meanwhile::learn::kmeans
