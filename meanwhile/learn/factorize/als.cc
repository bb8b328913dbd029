// Returns factors of users and items that minimise, by turns,
//
//   explicit   sum over ratings of weight ((r - mean - b_u - c_i - x_u . y_i)^2
//                                          + l2 (|x_u|^2 + |y_i|^2 + b_u^2 + c_i^2))
//   implicit   sum over all pairs of c (p - x_u . y_i)^2 + l2 (sum of |x_u|^2 + sum of |y_i|^2),
//              p = 1 and c = 1 + alpha r where there is a count r > 0, else p = 0 and c = 1
//
// Given the items, users are independent least-squares problems, and the other way round, so the
// objective never rises (but for the rounding of float32). Each is brought near its solution by
// conjugate gradient from where it was (Takacs, Pilaszy and Tikk, "Applications of the conjugate
// gradient method for implicit feedback collaborative filtering", RecSys 2011). What a step takes
// from the objective is the product of its length and the squared residual: the objective is known
// after each round, and computed afresh once a pass.
//
// A pass over n ratings with k factors and s steps costs 8 (s + 1) n k operations, and for implicit
// feedback 4 (s + 1) k^2 for each user and item.
#include "meanwhile/learn/factorize/als.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/factorize/solvers.h"
#include "meanwhile/learn/stage.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kItemsAtOnce = 256;                       // of a task
constexpr std::int64_t kEquationBytes = std::int64_t{16} << 20;  // of an update

std::size_t packed(std::size_t n) { return n * (n + 1) / 2; }

std::vector<float> as_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::unique_ptr<RoundLearner> als_learner(const Parameters& parameters) {
  return std::make_unique<Als>(parameters);
}

Als::Als(Parameters parameters)
    : parameters_(std::move(parameters)),
      biased_(parameters_.biases && parameters_.feedback == Feedback::kExplicit),
      width_(row_width(static_cast<std::size_t>(parameters_.n_factors) + (biased_ ? 1 : 0))) {}

std::string Als::name() const { return kName; }

void Als::attach(const Attachment& attachment) {
  attachment_ = attachment;
  ratings_ = Ratings(attachment.part->data);
  first_user_ = first_users(*attachment.part);
  held_ = std::vector<Held>(attachment.part->shards.size());
  const auto user_rows = static_cast<std::size_t>(users()) * width_;
  const auto item_rows = static_cast<std::size_t>(items()) * width_;
  if (progress_.phase == AlsPhase::kFacts) {
    user_names_ = Names(attachment.part->data.class_names);
    item_names_ = Names(attachment.part->data.feature_names);
  } else if (user_table_.size() != user_rows || item_table_.size() != item_rows) {
    throw Error(ErrorKind::kInput, "the ratings are of other users and items than the model's");
  }
  if (user_names_.size() != users() || item_names_.size() != items()) {
    throw Error(ErrorKind::kInput, "users and items of the ratings have no names");
  }
  if (progress_.phase == AlsPhase::kUsers) make_item_gram();
}

data::RowRange Als::rows_of(int shard) const {
  const auto& blocks = attachment_.part->shards[static_cast<std::size_t>(shard)].blocks;
  return blocks.empty() ? data::RowRange{0, 0}
                        : data::RowRange{blocks.front().begin, blocks.back().end};
}

std::int64_t Als::items_at_once() const {
  const auto bytes = static_cast<std::int64_t>(8 * (packed(numbers()) + numbers()));
  return std::max<std::int64_t>(1, kEquationBytes / bytes);
}

std::int64_t Als::rounds_of_items() const {
  if (!is_exact()) return parameters_.cg_steps;
  return std::max<std::int64_t>(1, (items() + items_at_once() - 1) / items_at_once());
}

// A shard with fewer ratings than there are items leaves most rows untouched.
exchange::Block Als::items_block(std::int64_t rows, std::size_t width,
                                 exchange::Element element) const {
  exchange::Block block{rows, static_cast<std::int64_t>(width), element};
  const auto shards = static_cast<std::int64_t>(attachment_.part->shards.size());
  block.sparse = attachment_.part->stored / shards < items() &&
                 width * exchange::element_bytes(element) <= exchange::kMostRowBytes;
  return block;
}

exchange::UpdateShape Als::update_shape() const {
  using exchange::Block;
  using exchange::Element;
  const auto n = static_cast<std::int64_t>(numbers());
  switch (progress_.phase) {
    case AlsPhase::kFacts:
      return {Block{3}, Block{items()}};
    case AlsPhase::kUsers: {
      Block of_users{users(), n, Element::kFloat32};
      of_users.sparse = true;
      const auto gram = static_cast<std::int64_t>(is_explicit() ? 0 : width_ * width_);
      return {of_users, items_block(is_exact() ? 0 : items(), numbers(), Element::kFloat32),
              Block{4 + gram}};
    }
    case AlsPhase::kItems: {
      if (!is_exact()) return {items_block(items(), numbers(), Element::kFloat32)};
      const std::int64_t first = progress_.step * items_at_once();
      return {items_block(std::min(items_at_once(), items() - first), packed(numbers()) + numbers(),
                          Element::kFloat64)};
    }
    case AlsPhase::kScore:
      return {Block{2}};
  }
  return {};
}

template <class Use>
double Als::over_items(const Use& use) const {
  const std::int64_t tasks = (items() + kItemsAtOnce - 1) / kItemsAtOnce;
  std::vector<double> sums(static_cast<std::size_t>(tasks));
  attachment_.pool->run(tasks, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(items(), (task + 1) * kItemsAtOnce);
    double sum = 0;
    for (std::int64_t item = task * kItemsAtOnce; item < end; ++item) {
      sum += use(static_cast<std::size_t>(item));
    }
    sums[static_cast<std::size_t>(task)] = sum;
  });
  double sum = 0;
  for (const double some : sums) sum += some;
  return sum;
}

void Als::start(const exchange::Update& total) {
  const std::span<const double> sums = total.dense<double>(0), weights = total.dense<double>(1);
  progress_.weight = sums[1];
  progress_.ratings = sums[2];
  if (!(sums[1] > 0)) throw Error(ErrorKind::kInput, "all ratings weigh 0");
  progress_.mean = sums[0] / sums[1];
  if (is_explicit()) item_weight_.assign(weights.begin(), weights.end());
  user_table_.assign(static_cast<std::size_t>(users()) * width_, 0);
  item_table_.assign(static_cast<std::size_t>(items()) * width_, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(items()); ++i) {
    for (std::size_t k = 0; k < factors(); ++k) {
      item_table_[i * width_ + k] =
          first_factor(attachment_.seed, Side::kItem, static_cast<std::int64_t>(i), k, factors());
    }
  }
  user_gram_.assign(is_explicit() ? 0 : width_ * width_, 0);
  if (!biased_) return;
  user_bias_.assign(static_cast<std::size_t>(users()), 0);
  item_bias_.assign(static_cast<std::size_t>(items()), 0);
  for (auto* table : {&user_table_, &item_table_}) {
    for (std::size_t at = factors(); at < table->size(); at += width_) (*table)[at] = 1;
  }
}

// In stretches, so that neither their number nor their sum depends on threads.
void Als::make_item_gram() {
  if (is_explicit()) return;
  const std::int64_t rows = std::max<std::int64_t>(512, items() / 64);
  const std::int64_t tasks = (items() + rows - 1) / rows;
  std::vector<std::vector<float>> grams(static_cast<std::size_t>(tasks));
  attachment_.pool->run(tasks, [&](std::int64_t task, int) {
    std::vector<float>& gram = grams[static_cast<std::size_t>(task)];
    gram.assign(width_ * width_, 0);
    const std::int64_t begin = task * rows, end = std::min(items(), begin + rows);
    add_outer(item_table_.data() + static_cast<std::size_t>(begin) * width_,
              static_cast<std::size_t>(end - begin), width_, gram.data());
  });
  item_gram_.assign(width_ * width_, 0);
  for (const std::vector<float>& gram : grams) {
    for (std::size_t k = 0; k < gram.size(); ++k) item_gram_[k] += static_cast<double>(gram[k]);
  }
  item_gram32_ = as_floats(item_gram_);
}

double Als::gram_product() const {
  double sum = 0;
  for (std::size_t k = 0; k < user_gram_.size(); ++k) sum += user_gram_[k] * item_gram_[k];
  return sum;
}

double Als::item_penalty() const {
  return over_items([&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < factors(); ++k) {
      const auto value = static_cast<double>(item_table_[i * width_ + k]);
      sum += value * value;
    }
    if (biased_) sum += static_cast<double>(item_bias_[i]) * static_cast<double>(item_bias_[i]);
    return item_ridge(i) * sum;
  });
}

Outcome Als::absorb(const exchange::Update& total) {
  Outcome outcome;
  switch (progress_.phase) {
    case AlsPhase::kFacts:
      start(total);
      outcome.phase = Phase::kPrepare;
      progress_.phase = AlsPhase::kUsers;
      make_item_gram();
      break;
    case AlsPhase::kUsers:
      absorb_users(total, outcome);
      break;
    case AlsPhase::kItems:
      is_exact() ? absorb_equations(total, outcome) : absorb_step(total, outcome);
      break;
    case AlsPhase::kScore:
      absorb_score(total, outcome);
      break;
  }
  return outcome;
}

void Als::absorb_users(const exchange::Update& total, Outcome& outcome) {
  const std::span<const double> sums = total.dense<double>(2);
  const double items_part = item_penalty();
  progress_.pass_objective = sums[0] + sums[1] + items_part + gram_product();
  outcome.objective = progress_.pass_objective / progress_.weight;
  outcome.record["pass"] = progress_.pass + 1;
  if (is_explicit()) outcome.record["rmse"] = std::sqrt(sums[0] / progress_.weight);
  for (const std::int64_t user : total.touched(0)) {
    const std::span<const float> row = total.row<float>(0, user);
    const auto u = static_cast<std::size_t>(user);
    std::copy_n(row.begin(), factors(),
                user_table_.begin() + static_cast<std::ptrdiff_t>(u * width_));
    if (biased_) user_bias_[u] = row[factors()];
  }
  if (!is_explicit()) {
    user_gram_.assign(sums.begin() + 4,
                      sums.begin() + 4 + static_cast<std::ptrdiff_t>(width_ * width_));
    user_gram32_ = as_floats(user_gram_);
  }
  progress_.objective = sums[2] + sums[3] + items_part + gram_product();
  progress_.phase = AlsPhase::kItems;
  progress_.step = 0;
  if (is_exact()) return;
  residual_.assign(item_table_.size(), 0);
  left_.assign(static_cast<std::size_t>(items()), 0);
  over_items([&](std::size_t i) {
    std::vector<float> w(item_table_.begin() + static_cast<std::ptrdiff_t>(i * width_),
                         item_table_.begin() + static_cast<std::ptrdiff_t>((i + 1) * width_));
    if (biased_) w[factors()] = item_bias_[i];
    std::vector<float> rest(width_);
    if (!is_explicit()) add_product(user_gram32_.data(), width_, w.data(), rest.data());
    const auto penalty = static_cast<float>(item_ridge(i));
    float* const r = residual_.data() + i * width_;
    if (total.is_touched(1, static_cast<std::int64_t>(i))) {
      const std::span<const float> row = total.row<float>(1, static_cast<std::int64_t>(i));
      std::copy(row.begin(), row.end(), r);
    }
    for (std::size_t k = 0; k < numbers(); ++k) r[k] -= rest[k] + penalty * w[k];
    left_[i] = dot(r, r, width_);
    return 0.0;
  });
  direction_ = residual_;
}

void Als::absorb_step(const exchange::Update& total, Outcome& outcome) {
  outcome.objective = progress_.objective / progress_.weight;
  outcome.record["pass"] = progress_.pass + 1;
  const double gained = over_items([&](std::size_t i) {
    if (!(left_[i] > kNothingLeft)) return 0.0;
    float* const p = direction_.data() + i * width_;
    float* const r = residual_.data() + i * width_;
    std::vector<float> q(width_);
    if (total.is_touched(0, static_cast<std::int64_t>(i))) {
      const std::span<const float> row = total.row<float>(0, static_cast<std::int64_t>(i));
      for (std::size_t k = 0; k < row.size(); ++k) q[k] = -row[k];
    }
    if (!is_explicit()) add_product(user_gram32_.data(), width_, p, q.data());
    const auto penalty = static_cast<float>(item_ridge(i));
    for (std::size_t k = 0; k < width_; ++k) q[k] += penalty * p[k];
    const float curve = dot(p, q.data(), width_);
    if (!(curve > 0)) return static_cast<double>(left_[i] = 0);
    const float length = left_[i] / curve;
    float* const row = item_table_.data() + i * width_;
    for (std::size_t k = 0; k < factors(); ++k) row[k] += length * p[k];
    if (biased_) item_bias_[i] += length * p[factors()];
    for (std::size_t k = 0; k < width_; ++k) r[k] -= length * q[k];
    const float now = dot(r, r, width_);
    const float keep = now / left_[i];
    for (std::size_t k = 0; k < width_; ++k) p[k] = r[k] + keep * p[k];
    const double gain = static_cast<double>(length) * static_cast<double>(left_[i]);
    left_[i] = now;
    return gain;
  });
  progress_.objective -= gained;
  if (++progress_.step == rounds_of_items()) end_pass(outcome);
}

void Als::absorb_equations(const exchange::Update& total, Outcome& outcome) {
  outcome.objective = progress_.objective / progress_.weight;
  outcome.record["pass"] = progress_.pass + 1;
  const auto first = static_cast<std::size_t>(progress_.step * items_at_once());
  const auto end = first + static_cast<std::size_t>(total.shape()[0].rows);
  const std::size_t n = numbers();
  const double gained = over_items([&](std::size_t i) {
    if (i < first || i >= end) return 0.0;
    std::vector<double> matrix(packed(n)), right(n);
    const auto at = static_cast<std::int64_t>(i - first);
    if (total.is_touched(0, at)) {
      const std::span<const double> row = total.row<double>(0, at);
      std::copy_n(row.begin(), packed(n), matrix.begin());
      std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(packed(n)), n, right.begin());
    }
    for (std::size_t k = 0; k < n; ++k) {
      double* const row = matrix.data() + packed(k);
      for (std::size_t m = 0; !is_explicit() && m <= k; ++m) row[m] += user_gram_[k * width_ + m];
      row[k] += item_ridge(i);
    }
    const std::vector<double> kept = matrix;
    // The objective as a function of w alone: w' A w - 2 b' w.
    const auto value = [&](const std::vector<float>& w) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const double* const row = kept.data() + packed(k);
        double product = -2 * right[k];
        for (std::size_t m = 0; m < k; ++m) product += 2 * row[m] * static_cast<double>(w[m]);
        product += row[k] * static_cast<double>(w[k]);
        sum += product * static_cast<double>(w[k]);
      }
      return sum;
    };
    float* const to = item_table_.data() + i * width_;
    std::vector<float> w(to, to + n);
    if (biased_) w[factors()] = item_bias_[i];
    const double before = value(w);
    solve_packed(matrix.data(), right.data(), n, w.data());
    const double gain = before - value(w);
    if (!(gain >= 0)) return 0.0;  // it was as good before, up to rounding
    std::copy_n(w.begin(), factors(), to);
    if (biased_) item_bias_[i] = w[factors()];
    return gain;
  });
  progress_.objective -= gained;
  if (++progress_.step == rounds_of_items()) end_pass(outcome);
}

void Als::end_pass(Outcome& /*outcome*/) {
  ++progress_.pass;
  progress_.step = 0;
  residual_.clear();
  direction_.clear();
  left_.clear();
  make_item_gram();
  const double before = progress_.pass_objective, now = progress_.objective;
  if (before - now <= parameters_.tol * std::abs(before)) {
    progress_.ended = {
        Ending::kConverged,
        fmt::format("converged: the last pass lowered the objective by less than a fraction of {}",
                    parameters_.tol)};
  } else if (progress_.pass >= parameters_.max_iter) {
    progress_.ended = {Ending::kRanOut, fmt::format("max_iter={} reached", parameters_.max_iter)};
  }
  progress_.phase = progress_.ended ? AlsPhase::kScore : AlsPhase::kUsers;
}

void Als::absorb_score(const exchange::Update& total, Outcome& outcome) {
  const std::span<const double> sums = total.dense<double>(0);
  progress_.objective = sums[0] + sums[1] + item_penalty() + gram_product();
  outcome.phase = Phase::kScore;
  outcome.objective = progress_.objective / progress_.weight;
  if (is_explicit()) {
    progress_.squares = sums[0];
    outcome.record["rmse"] = std::sqrt(sums[0] / progress_.weight);
  }
  outcome.record["passes"] = progress_.pass;
  outcome.ending = progress_.ended.ending;
  outcome.because = progress_.ended.because;
}

std::int64_t Als::rounds_left() const {
  if (progress_.ended) return 0;
  const std::int64_t each = 1 + (is_exact() ? 1 : parameters_.cg_steps);
  return std::max<std::int64_t>(0,
                                (parameters_.max_iter - progress_.pass) * each -
                                    (progress_.phase == AlsPhase::kItems ? progress_.step + 1 : 0));
}

}  // namespace meanwhile::learn::factorize
