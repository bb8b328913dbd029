// Matrix factorisation of explicit ratings by stochastic gradient descent: rows of users and items
// whose products, with biases and the mean, come near the ratings. Minimises
//
//   sum over ratings of (rating - prediction)^2 + l2 (|p|^2 + |q|^2 + user bias^2 + item bias^2)
//
// Users lie in S shards and items in S blocks; a pass is S steps, which are rounds. In a step a
// shard learns from its ratings of one block, and no two shards have the same one
// (tables/rotation.h). So nothing is written by two shards, and the model is that of one order of
// ratings, one after another: pass by pass, step by step, shard by shard, in the order of a cell
// (sgd_ratings.h). It is a function of ratings, parameters, seed and S alone.
//
// Factors, biases and step sizes of users are memory of their shard. Those of items travel in the
// update: rows that a shard changed, with their new values. One shard has a row, all others leave
// it absent, so the sum is that row, and absorb() replaces it. A worker that is alone writes items
// in place, and its updates are a few numbers.
//
// Step sizes are of a row: rate / sqrt(1 + sum of errors squared / n_factors), after Chin, Zhuang,
// Juan and Lin, "A learning-rate schedule for stochastic gradient methods to matrix factorization"
// (PAKDD 2015), whose squares are those of gradients: that takes two more sums over the factors.
// Ratings are scaled to variance 1, so that a rate suits all of them.
//
// The model knows users after rounds that gather them: behind passes 1, 2, 4, 8 and so on, and
// behind the last one. Cost of a pass: two rows read and written for each rating; over workers,
// S times the changed rows of a block from each shard.
#include "meanwhile/learn/factorize/sgd.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/graph/shard.h"
#include "meanwhile/learn/factorize/solvers.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;
using Stage = SgdStage;

namespace {

constexpr char kSgdFactors[] = "user_factors", kSgdRows[] = "user_rows";

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace

std::unique_ptr<RoundLearner> sgd_learner(const Parameters& parameters) {
  return std::make_unique<Sgd>(parameters);
}

struct Sgd::Users {
  std::span<float> factors;
  std::span<SgdRow> rows;

  SgdRows from(std::size_t user, std::size_t width) const {
    return {factors.data() + user * width, rows.data() + user};
  }
};

Sgd::Sgd(const Parameters& parameters)
    : parameters_(parameters), width_(sgd_width(size(parameters.n_factors))) {
  validate(parameters);
  trained_.n_factors = size(parameters.n_factors);
  trained_.biased = parameters.biases;
}
Sgd::~Sgd() = default;

std::string Sgd::name() const { return kName; }

data::RowRange Sgd::rows_of(int shard) const {
  return graph::rows_of(attachment_.part->shards[size(shard)]);
}

void Sgd::attach(const Attachment& attachment) {
  const data::Part& part = *attachment.part;
  ratings_ = Ratings(part.data);
  if (ratings_.weighted()) {
    throw Error(ErrorKind::kUsage, "{}: sgd takes no weights of ratings; give {} als",
                base::parameter("weight_column"), base::parameter("solver"));
  }
  if (stage_ != Stage::kCount &&
      (shards_ != std::ssize(part.shards) || std::ssize(counts_) != ratings_.items())) {
    throw Error(ErrorKind::kInput, "the state is of {} shards and {} items, the data of {} and {}",
                shards_, counts_.size(), part.shards.size(), ratings_.items());
  }
  const std::int64_t users = part.rows;
  if (trained_.users() > 0 && (trained_.users() != users || trained_.items() != ratings_.items())) {
    throw Error(ErrorKind::kInput, "the state is of {} users and {} items, the data of {} and {}",
                trained_.users(), trained_.items(), users, ratings_.items());
  }
  attachment_ = attachment;
  shards_ = std::ssize(part.shards);
  first_user_ = first_users(part);
  cells_.clear();
  cells_.resize(part.shards.size());
  rotation_.reset();
  trained_.user_names = Names(part.data.class_names);
  trained_.item_names = Names(part.data.feature_names);
  // Before users are gathered first, the model knows the mean alone.
  trained_.user_factors.resize(size(users) * trained_.n_factors);
  trained_.item_factors.resize(size(ratings_.items()) * trained_.n_factors);
  if (trained_.biased) trained_.user_biases.resize(size(users));
  if (trained_.biased) trained_.item_biases.resize(size(ratings_.items()));
  if (stage_ != Stage::kCount) make_places();
}

MemoryShape Sgd::memory_shape(int shard) const {
  const std::int64_t users = attachment_.part->shards[size(shard)].rows;
  return {{kSgdFactors, "F32", {users, static_cast<std::int64_t>(width_)}},
          {kSgdRows, "F32", {users, 2}}};
}

Sgd::Users Sgd::users_of(ShardMemory& memory) const {
  const std::span<float> rows = memory.tensor<float>(kSgdRows);
  static_assert(sizeof(SgdRow) == 2 * sizeof(float));
  return {memory.tensor<float>(kSgdFactors),
          {reinterpret_cast<SgdRow*>(rows.data()), rows.size() / 2}};
}

exchange::UpdateShape Sgd::update_shape() const {
  using exchange::Element;
  const std::int64_t factors = parameters_.n_factors;
  exchange::UpdateShape shape = {{.rows = 3}};
  const auto add_rows = [&](std::int64_t rows, std::int64_t width) {
    if (attachment_.alone) return;
    shape.push_back({.rows = rows, .width = width, .element = Element::kFloat32, .sparse = true});
  };
  if (stage_ == Stage::kCount) {
    shape.push_back({.rows = ratings_.items(), .element = Element::kInt64});
  } else if (stage_ == Stage::kStep) {
    add_rows(ratings_.items(), factors + 2);
  } else if (stage_ == Stage::kGather) {
    add_rows(first_user_.back(), factors + (parameters_.biases ? 1 : 0));
  }
  return shape;
}

SgdRule Sgd::rule() const {
  return {.width = width_,
          .rate = static_cast<float>(parameters_.learning_rate),
          // A scaled factor is 1 / sqrt(scale) of what the model has.
          .l2 = static_cast<float>(parameters_.l2 / scale_),
          .bias_l2 = static_cast<float>(parameters_.l2),
          .share = 1 / static_cast<float>(parameters_.n_factors),
          .biases = parameters_.biases};
}

const SgdCells& Sgd::cells(int shard, int block, SgdCells& fresh) {
  const data::RowRange range = rows_of(shard);
  std::size_t ratings = 0;
  for (std::int64_t u = range.begin; u < range.end; ++u) ratings += ratings_.of(u).items.size();
  if (attachment_.release) {
    fresh = SgdCells(ratings_, range, ratings, places_, scale(), block, block + 1);
    attachment_.leave(range);
    return fresh;
  }
  std::unique_ptr<SgdCells>& known = cells_[size(shard)];
  if (known == nullptr) {
    known = std::make_unique<SgdCells>(ratings_, range, ratings, places_, scale(), 0, shards());
  }
  return *known;
}

void Sgd::work(int shard, ShardMemory& memory, exchange::Update& update) {
  if (stage_ == Stage::kCount) return work_count(shard, update);
  const Users users = users_of(memory);
  if (stage_ == Stage::kBegin) {
    work_begin(shard, users);
    SgdCells fresh;
    if (!attachment_.release) cells(shard, 0, fresh);  // not in the first step
    return;
  }
  return stage_ == Stage::kStep ? work_step(shard, users, update)
                                : work_gather(shard, users, update);
}

void Sgd::work_count(int shard, exchange::Update& update) const {
  const std::span<double> sums = update.dense<double>(kSums);
  const std::span<std::int64_t> counts = update.dense<std::int64_t>(kCounts);
  const data::RowRange range = rows_of(shard);
  for (std::int64_t u = range.begin; u < range.end; ++u) {
    const UserRatings of = ratings_.of(u);
    for (std::size_t k = 0; k < of.items.size(); ++k) {
      const auto rating = static_cast<double>(of.ratings[k]);
      ++counts[size(of.items[k])];
      sums[0] += 1;
      sums[1] += rating;
      sums[2] += rating * rating;
    }
  }
  attachment_.leave(range);
}

void Sgd::work_begin(int shard, Users users) const {
  const std::int64_t first = first_user_[size(shard)];
  const data::RowRange range = rows_of(shard);
  for (std::size_t u = 0; u < users.rows.size(); ++u) {
    users.rows[u] = {};
    const auto row = static_cast<std::int64_t>(u);
    if (ratings_.of(range.begin + row).items.empty()) continue;  // its factors stay 0
    for (std::size_t f = 0; f < trained_.n_factors; ++f) {
      users.factors[u * width_ + f] =
          first_factor(attachment_.seed, Side::kUser, first + row, f, trained_.n_factors);
    }
  }
}

void Sgd::work_step(int shard, Users users, exchange::Update& update) {
  const int block = rotation_->block(shard, static_cast<int>(step_));
  const SgdRule steps = rule();
  SgdCells fresh;
  const SgdCells& ratings = cells(shard, block, fresh);
  // Items are written in place, or where they are known to be this shard's alone.
  const std::size_t first = places_.first(block), count = places_.end(block) - first;
  float* factors = item_factors_.data() + first * width_;
  SgdRow* rows = item_rows_.data() + first;
  base::LargeVector<float> factors_here;
  std::vector<SgdRow> rows_here;
  if (!attachment_.alone) {
    factors_here.assign(factors, factors + count * width_);
    rows_here.assign(rows, rows + count);
    factors = factors_here.data();
    rows = rows_here.data();
  }
  const std::span<double> sums = update.dense<double>(kSums);
  for (const Tile& tile : ratings.tiles(block)) {
    const std::size_t item = tile.item - first;
    sums[0] += static_cast<double>(tile.end - tile.begin);
    sums[1] += sgd_steps(ratings.ratings(tile), steps, users.from(tile.user, width_),
                         {factors + item * width_, rows + item});
  }
  if (attachment_.alone) return;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = first + i;
    const bool same = std::memcmp(factors + i * width_, &item_factors_[place * width_],
                                  width_ * sizeof(float)) == 0 &&
                      std::memcmp(rows + i, &item_rows_[place], sizeof(SgdRow)) == 0;
    if (same) continue;
    const auto item = static_cast<std::int64_t>(places_.item(place));
    const std::span<float> to = update.touch<float>(kItemRows, item);
    std::copy_n(factors + i * width_, trained_.n_factors, to.begin());
    to[trained_.n_factors] = rows[i].bias;
    to[trained_.n_factors + 1] = rows[i].squares;
  }
}

// Gathers the users' factors for the model, and the objective of the model.
void Sgd::work_gather(int shard, Users users, exchange::Update& update) {
  const std::size_t factors = trained_.n_factors;
  const std::int64_t first = first_user_[size(shard)];
  const data::RowRange range = rows_of(shard);
  const auto scaled = [](float value, double by) {
    return static_cast<float>(static_cast<double>(value) * by) + 0.0F;  // never -0
  };
  const double root = std::sqrt(scale_);
  const std::span<double> sums = update.dense<double>(kSums);
  std::vector<float> row(factors + 1);
  for (std::size_t u = 0; u < users.rows.size(); ++u) {
    double squares = 0;
    for (std::size_t f = 0; f < factors; ++f) {
      row[f] = scaled(users.factors[u * width_ + f], root);
      squares += static_cast<double>(row[f]) * static_cast<double>(row[f]);
    }
    row[factors] = scaled(users.rows[u].bias, scale_);
    squares += static_cast<double>(row[factors]) * static_cast<double>(row[factors]);
    const std::int64_t local = range.begin + static_cast<std::int64_t>(u);
    sums[2] += static_cast<double>(ratings_.of(local).items.size()) * squares;
    const std::int64_t user = first + static_cast<std::int64_t>(u);
    if (attachment_.alone) {
      std::copy_n(row.begin(), factors, &trained_.user_factors[size(user) * factors]);
      if (trained_.biased) trained_.user_biases[size(user)] = row[factors];
    } else {
      const std::span<float> to = update.touch<float>(kUserRows, user);
      std::copy_n(row.begin(), to.size(), to.begin());
    }
  }
  const SgdRule errors = rule();
  for (int block = 0; block < shards(); ++block) {
    SgdCells fresh;
    const SgdCells& ratings = cells(shard, block, fresh);
    for (const Tile& tile : ratings.tiles(block)) {
      sums[0] += static_cast<double>(tile.end - tile.begin);
      sums[1] += sgd_errors(ratings.ratings(tile), errors, users.from(tile.user, width_),
                            {&item_factors_[tile.item * width_], &item_rows_[tile.item]});
    }
  }
}

}  // namespace meanwhile::learn::factorize
