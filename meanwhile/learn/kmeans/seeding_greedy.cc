// Greedy k-means++ in two rounds a centre: one in which the shards that hold the drawn rows show
// them, one in which every shard says what would be left of its mass with each of them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/kmeans/lloyd.h"
#include "meanwhile/learn/kmeans/seeding.h"

namespace meanwhile::learn::kmeans {

namespace {

class GreedySeeding final : public Seeding {
 public:
  explicit GreedySeeding(const SeedJob& job)
      : job_(job),
        distances_(job_),
        trials_(2 + static_cast<std::int64_t>(std::log(static_cast<double>(job.K)))) {}

  std::size_t update_size() const override {
    switch (step_) {
      case Step::kMass:
        return job_.job.part->shards.size();
      case Step::kShow:
        return drawn_.size() * static_cast<std::size_t>(job_.D);
      case Step::kTry:
        return job_.job.part->shards.size() * static_cast<std::size_t>(tried_.K);
    }
    return 0;
  }

  void work(int shard, std::span<double> update) override {
    const data::Shard& rows = job_.job.part->shards[static_cast<std::size_t>(shard)];
    const std::vector<double>& distances = distances_.look(shard).distances;
    const auto s = static_cast<std::size_t>(shard);
    if (step_ == Step::kMass) {
      for (std::int64_t i = 0; i < rows.rows; ++i)
        update[s] += weight_of(job_.job.part->data, row_of(rows, i));
    } else if (step_ == Step::kShow) {
      for (std::size_t t = 0; t < drawn_.size(); ++t) {
        if (drawn_[t].shard != shard) continue;
        const std::int64_t row = draw_row(job_.job.part->data, rows, distances, drawn_[t].rest);
        const auto D = static_cast<std::size_t>(job_.D);
        if (row < 0) continue;
        copy_row(job_.job.part->data.x, job_.metric, row, update.subspan(t * D, D));
        job_.job.leave({row, row + 1});
      }
    } else {
      const auto T = static_cast<std::size_t>(tried_.K);
      try_rows(rows, distances, update.subspan(s * T, T));
    }
  }

  bool absorb(std::span<const double> total) override {
    if (step_ == Step::kMass) {
      masses_.assign(total.begin(), total.end());
      draw(1);  // the first centre, by weight alone
    } else if (step_ == Step::kShow) {
      try_shown(total);
    } else {
      choose(total);
      if (distances_.size() == job_.K) return true;
      draw(trials_);
    }
    return false;
  }

  std::vector<double> take_centers() override { return std::move(centers_); }

  std::span<const double> chosen() const override { return centers_; }
  std::span<const double> shown() const override {
    return step_ == Step::kTry ? std::span<const double>(shown_) : std::span<const double>();
  }
  Json numbers() const override {
    Json shards = Json::array(), rests = Json::array();
    for (const Drawn& drawn : drawn_) {
      shards.push_back(drawn.shard);
      rests.push_back(drawn.rest);
    }
    return {{"step", static_cast<int>(step_)},
            {"masses", masses_},
            {"drawn", drawn_.size()},
            {"drawn_shards", shards},
            {"drawn_rests", rests}};
  }
  void go_on(const Carried& carried) override {
    const auto D = static_cast<std::size_t>(job_.D);
    step_ = static_cast<Step>(carried_number(carried.numbers, "step", 0, 2));
    if (step_ == Step::kMass) return;
    const std::size_t shards = job_.job.part->shards.size();
    masses_ = carried_list(carried.numbers, "masses", shards);
    const auto drawn = carried_number<std::int64_t>(carried.numbers, "drawn", 1, trials_);
    const auto of = carried_list(carried.numbers, "drawn_shards", static_cast<std::size_t>(drawn));
    const auto rest = carried_list(carried.numbers, "drawn_rests", of.size());
    const bool trying = step_ == Step::kTry;
    if (carried.chosen.size() % D != 0 ||
        carried.chosen.size() >= static_cast<std::size_t>(job_.K) * D ||
        carried.shown.size() != (trying ? of.size() * D : 0)) {
      throw base::Error(base::ErrorKind::kInput, "not a k-means model: its seeds are cut");
    }
    for (std::size_t t = 0; t < of.size(); ++t) {
      if (!(of[t] < static_cast<double>(shards))) {
        throw base::Error(base::ErrorKind::kInput, "not a k-means model: no shard {}", of[t]);
      }
      drawn_.push_back({static_cast<int>(of[t]), rest[t]});
    }
    centers_ = carried.chosen;
    if (!centers_.empty()) {
      distances_.add(centers_, static_cast<std::int64_t>(centers_.size() / D));
    }
    if (trying) try_shown(carried.shown);
  }

 private:
  enum class Step { kMass, kShow, kTry };

  // masses[t] += the mass of the shard if tried row t were a centre.
  void try_rows(const data::Shard& rows, const std::vector<double>& distances,
                std::span<double> masses) {
    AssignScratch scratch;
    std::vector<std::int64_t> ids;
    std::vector<double> all;
    const bool first = distances_.size() == 0;
    std::size_t at = 0;
    for (const data::RowRange& block : rows.blocks) {
      ids.resize(static_cast<std::size_t>(block.end - block.begin));
      std::iota(ids.begin(), ids.end(), block.begin);
      all.resize(ids.size() * masses.size());
      if (first) all_distances(job_.job.part->data.x, tried_, ids, scratch, all.data());
      if (!first) {
        nearer_distances(job_.job.part->data.x, tried_, ids, distances.data() + at, scratch,
                         all.data());
      }
      for (std::size_t i = 0; i < ids.size(); ++i, ++at) {
        const double weight = weight_of(job_.job.part->data, ids[i]);
        for (std::size_t t = 0; t < masses.size(); ++t)
          masses[t] += weight * all[i * masses.size() + t];
      }
      job_.job.leave(block);
    }
  }

  void try_shown(std::span<const double> rows) {
    shown_.assign(rows.begin(), rows.end());
    tried_ = prepare(job_.job.part->data.x, job_.metric, shown_,
                     static_cast<std::int64_t>(drawn_.size()), job_.spread, fastest_screen());
    step_ = Step::kTry;
  }

  void draw(std::int64_t rows) {
    const double mass = std::accumulate(masses_.begin(), masses_.end(), 0.0);
    const base::Random random(job_.job.seed, base::Purpose::kSeeding,
                              static_cast<std::uint32_t>(distances_.size()), job_.trial << 16 | 1);
    drawn_.clear();
    for (std::int64_t t = 0; t < rows; ++t) {
      drawn_.push_back(draw_shard(masses_, random.uniform(static_cast<std::uint64_t>(t)) * mass));
    }
    step_ = Step::kShow;
  }

  // Takes the tried row that leaves the least mass. When there is no mass left (fewer distinct rows
  // than clusters) what was shown is all zeros: the first centre again stands in, and stays empty.
  void choose(std::span<const double> total) {
    const auto T = static_cast<std::size_t>(tried_.K);
    std::size_t best = 0;
    double least = 0;
    for (std::size_t t = 0; t < T; ++t) {
      double mass = 0;
      for (std::size_t s = 0; s < job_.job.part->shards.size(); ++s) mass += total[s * T + t];
      if (t == 0 || mass < least) {
        least = mass;
        best = t;
      }
    }
    const auto D = static_cast<std::size_t>(job_.D);
    const bool exhausted =
        distances_.size() > 0 && !(std::accumulate(masses_.begin(), masses_.end(), 0.0) > 0);
    const double* from = exhausted ? centers_.data() : shown_.data() + best * D;
    const std::vector<double> chosen(from, from + D);
    for (std::size_t s = 0; s < job_.job.part->shards.size() && !exhausted; ++s)
      masses_[s] = total[s * T + best];
    centers_.insert(centers_.end(), chosen.begin(), chosen.end());
    distances_.add(chosen, 1);
  }

  SeedJob job_;
  SeedDistances distances_;
  std::int64_t trials_;
  Step step_ = Step::kMass;
  std::vector<double> masses_;  // by shard
  std::vector<Drawn> drawn_;
  std::vector<double> shown_;  // the drawn rows
  Prepared tried_;
  std::vector<double> centers_;
};

}  // namespace

std::unique_ptr<Seeding> seed_greedy(const SeedJob& job) {
  return std::make_unique<GreedySeeding>(job);
}

}  // namespace meanwhile::learn::kmeans
