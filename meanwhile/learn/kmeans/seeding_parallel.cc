// k-means||: kDraws times, every row becomes a candidate with probability K * mass / (sum of
// masses). A draw takes three rounds: the masses, the number of candidates in each shard, the
// candidates. Then one round weighs the candidates, and absorb() reduces them to K.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/kmeans/lloyd.h"
#include "meanwhile/learn/kmeans/seeding.h"

namespace meanwhile::learn::kmeans {

namespace {

constexpr int kDraws = kParallelDraws, kMostDraws = 100;

class ParallelSeeding final : public Seeding {
 public:
  explicit ParallelSeeding(const SeedJob& job) : job_(job), distances_(job_) {}

  std::size_t update_size() const override {
    switch (step_) {
      case Step::kMass:
      case Step::kCount:
        return job_.job.part->shards.size();
      case Step::kShow:
        return static_cast<std::size_t>(drawn_ * job_.D);
      case Step::kWeigh:
        return static_cast<std::size_t>(distances_.size());
    }
    return 0;
  }

  void work(int shard, std::span<double> update) override {
    const data::Shard& rows = job_.job.part->shards[static_cast<std::size_t>(shard)];
    const SeedDistances::Shard& known = distances_.look(shard);
    const auto s = static_cast<std::size_t>(shard);
    const auto D = static_cast<std::size_t>(job_.D);
    const base::Random random(job_.job.seed, base::Purpose::kSeeding,
                              static_cast<std::uint32_t>(shard),
                              job_.trial << 16 | static_cast<std::uint32_t>(2 + draw_));
    if (step_ == Step::kShow && distances_.size() == 0) {
      // The first candidate is one row, drawn by weight.
      if (first_.shard == shard) {
        const std::int64_t row = draw_row(job_.job.part->data, rows, known.distances, first_.rest);
        copy_row(job_.job.part->data.x, job_.metric, row, update);
      }
    } else {
      std::size_t at = step_ == Step::kShow ? static_cast<std::size_t>(before_[s]) : 0;
      for (std::int64_t i = 0; i < rows.rows; ++i) {
        const std::int64_t row = row_of(rows, i);
        const double weight = weight_of(job_.job.part->data, row);
        const double mass = weight * known.distances[static_cast<std::size_t>(i)];
        if (step_ == Step::kMass) {
          update[s] += mass;
        } else if (step_ == Step::kWeigh) {
          update[static_cast<std::size_t>(known.nearest[static_cast<std::size_t>(i)])] += weight;
        } else if (random.uniform(static_cast<std::uint64_t>(i)) * mass_ <
                   static_cast<double>(job_.K) * mass) {
          if (step_ == Step::kCount) ++update[s];
          if (step_ == Step::kShow) {
            copy_row(job_.job.part->data.x, job_.metric, row, update.subspan(at++ * D, D));
            job_.job.leave({row, row + 1});
          }
        }
      }
    }
  }

  bool absorb(std::span<const double> total) override {
    switch (step_) {
      case Step::kMass:
        mass_ = std::accumulate(total.begin(), total.end(), 0.0);
        if (distances_.size() == 0) {
          const base::Random random(job_.job.seed, base::Purpose::kSeeding, 0,
                                    job_.trial << 16 | 1);
          first_ = draw_shard(total, random.uniform(0) * mass_);
          drawn_ = 1;
          step_ = Step::kShow;
        } else {
          // No mass left: every row is a candidate already.
          step_ = mass_ > 0 ? Step::kCount : Step::kWeigh;
        }
        break;
      case Step::kCount:
        before_.clear();
        drawn_ = 0;
        for (const double count : total) {
          before_.push_back(drawn_);
          drawn_ += static_cast<std::int64_t>(count);
        }
        if (drawn_ > 0) step_ = Step::kShow;
        if (drawn_ == 0) next_draw();
        break;
      case Step::kShow:
        points_.insert(points_.end(), total.begin(), total.end());
        distances_.add(total, drawn_);
        next_draw();
        break;
      case Step::kWeigh:
        centers_ = reduce_points(job_, points_, total);
        return true;
    }
    return false;
  }

  std::vector<double> take_centers() override { return std::move(centers_); }

  std::span<const double> chosen() const override { return points_; }
  Json numbers() const override {
    return {{"step", static_cast<int>(step_)},
            {"draw", draw_},
            {"mass", mass_},
            {"first_shard", first_.shard},
            {"first_rest", first_.rest},
            {"drawn", drawn_},
            {"before", before_}};
  }
  void go_on(const Carried& carried) override {
    constexpr double kMost = std::numeric_limits<double>::max();
    const auto D = static_cast<std::size_t>(job_.D);
    const std::size_t shards = job_.job.part->shards.size();
    const Json& numbers = carried.numbers;
    step_ = static_cast<Step>(carried_number(numbers, "step", 0, 3));
    draw_ = carried_number(numbers, "draw", 0, kMostDraws + 1);
    mass_ = carried_number(numbers, "mass", 0.0, kMost);
    first_ = {carried_number(numbers, "first_shard", 0, static_cast<int>(shards) - 1),
              carried_number(numbers, "first_rest", 0.0, kMost)};
    drawn_ = carried_number<std::int64_t>(numbers, "drawn", 0, job_.job.part->rows);
    const std::size_t n = carried.chosen.size() / D;
    if (carried.chosen.size() != n * D || n > static_cast<std::size_t>(job_.job.part->rows) ||
        (n == 0 && (step_ == Step::kCount || step_ == Step::kWeigh))) {
      throw base::Error(base::ErrorKind::kInput, "not a k-means model: its seeds are cut");
    }
    points_ = carried.chosen;
    if (n > 0) distances_.add(points_, static_cast<std::int64_t>(n));
    if (step_ != Step::kShow || n == 0) return;
    std::int64_t last = 0;
    for (const double before : carried_list(numbers, "before", shards)) {
      before_.push_back(std::min(drawn_, std::max(last, static_cast<std::int64_t>(before))));
      last = before_.back();
    }
  }

 private:
  enum class Step { kMass, kCount, kShow, kWeigh };

  // After the first row, kDraws draws, and more as long as there are fewer candidates than
  // clusters.
  void next_draw() {
    ++draw_;
    const bool enough = draw_ > kDraws && distances_.size() >= job_.K;
    step_ = enough || draw_ > kMostDraws ? Step::kWeigh : Step::kMass;
  }

  SeedJob job_;
  SeedDistances distances_;
  Step step_ = Step::kMass;
  int draw_ = 0;
  double mass_ = 0;
  Drawn first_;
  std::vector<std::int64_t> before_;  // by shard: candidates of this draw in the shards before
  std::int64_t drawn_ = 0;
  std::vector<double> points_;  // the candidates
  std::vector<double> centers_;
};

}  // namespace

std::unique_ptr<Seeding> seed_parallel(const SeedJob& job) {
  return std::make_unique<ParallelSeeding>(job);
}

std::vector<double> reduce_points(const SeedJob& job, std::span<const double> points,
                                  std::span<const double> weights) {
  const std::int64_t D = job.D, K = job.K;
  data::Part part;
  part.rows = static_cast<std::int64_t>(weights.size());
  part.data.x = data::Dense<double>{points.data(), part.rows, D};
  part.data.weights = weights;
  part.shards = data::deal(part.rows, 1, job.job.seed);
  const Attachment attachment{.part = &part, .seed = job.job.seed};
  const SeedJob small{attachment, job.metric, K, D, job.trial, job.spread};

  std::unique_ptr<Seeding> seeding = seed_greedy(small);
  std::vector<double> update;
  for (bool done = false; !done;) {
    update.assign(seeding->update_size(), 0.0);
    seeding->work(0, update);
    done = seeding->absorb(update);
  }
  std::vector<double> centers = seeding->take_centers();

  constexpr int kLloydRounds = 5;
  ShardCache cache;
  for (int round = 0; round < kLloydRounds; ++round) {
    const UpdateView view(K, D, 1, 0);
    Round lloyd;
    lloyd.centers = prepare(part.data.x, job.metric, centers, K, job.spread, fastest_screen());
    update.assign(view.size(), 0.0);
    lloyd.values = centers;
    work_on_shard(lloyd, attachment, part.shards.front(), cache, update);
    move_centers(job.metric, view, update, K, D, centers);
  }
  return centers;
}

}  // namespace meanwhile::learn::kmeans
