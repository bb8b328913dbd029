// The work of shards in the rounds of alternating least squares.
#include <algorithm>

#include "meanwhile/learn/factorize/als.h"

namespace meanwhile::learn::factorize {

namespace {

constexpr std::size_t kGramRows = 512;  // that are added up in float32

// gram += sum of row row' of a table, in float64 but for stretches of rows.
void add_gram(std::span<const float> table, std::size_t width, std::span<double> gram) {
  std::vector<float> some(width * width);
  for (std::size_t at = 0; at < table.size(); at += kGramRows * width) {
    std::fill(some.begin(), some.end(), 0.0F);
    const std::size_t count = std::min(kGramRows, (table.size() - at) / width);
    add_outer(table.data() + at, count, width, some.data());
    for (std::size_t k = 0; k < some.size(); ++k) gram[k] += static_cast<double>(some[k]);
  }
}

double squared(const float* values, std::size_t count) {
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    sum += static_cast<double>(values[k]) * static_cast<double>(values[k]);
  }
  return sum;
}

}  // namespace

template <class Bias>
void Als::set_terms(std::span<const float> ratings, std::span<const float> weights,
                    const Bias& bias, Terms& terms) const {
  terms.a.resize(ratings.size());
  terms.b.resize(ratings.size());
  terms.weight = 0;
  const auto alpha = static_cast<float>(parameters_.alpha);
  const auto mean = static_cast<float>(biased_ ? progress_.mean : 0);
  for (std::size_t j = 0; j < ratings.size(); ++j) {
    if (is_explicit()) {
      const float weight = weights.empty() ? 1 : weights[j];
      terms.a[j] = weight;
      terms.b[j] = weight * (ratings[j] - mean - bias(j));
      terms.weight += static_cast<double>(weight);
    } else {
      terms.a[j] = alpha * ratings[j];
      terms.b[j] = ratings[j] > 0 ? 1 + alpha * ratings[j] : 0;
    }
  }
}

double Als::loss(const Terms& terms, std::span<const float> products) const {
  double sum = 0;
  for (std::size_t j = 0; j < terms.a.size(); ++j) {
    const auto a = static_cast<double>(terms.a[j]), b = static_cast<double>(terms.b[j]);
    const auto s = static_cast<double>(products[j]);
    if (!is_explicit()) {
      sum += b - 2 * b * s + a * s * s;
    } else if (a > 0) {
      const double error = b / a - s;
      sum += a * error * error;
    }
  }
  return sum;
}

const ShardItems& Als::by_item(int shard, ShardItems& made) {
  Held& held = held_[static_cast<std::size_t>(shard)];
  if (held.made) return held.by_item;
  if (attachment_.release) return made = items_of(ratings_, rows_of(shard));
  held.by_item = items_of(ratings_, rows_of(shard));
  held.made = true;
  return held.by_item;
}

void Als::work(int shard, ShardMemory& /*memory*/, exchange::Update& update) {
  switch (progress_.phase) {
    case AlsPhase::kFacts:
      work_facts(shard, update);
      break;
    case AlsPhase::kUsers:
      work_users(shard, update);
      break;
    case AlsPhase::kItems:
      is_exact() ? work_equations(shard, update) : work_items(shard, update);
      break;
    case AlsPhase::kScore:
      work_score(shard, update);
      break;
  }
  attachment_.leave(rows_of(shard));
}

void Als::work_facts(int shard, exchange::Update& update) const {
  const std::span<double> sums = update.dense<double>(0), by_item = update.dense<double>(1);
  const data::RowRange rows = rows_of(shard);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const UserRatings of = ratings_.of(row);
    for (std::size_t j = 0; j < of.items.size(); ++j) {
      const double weight = of.weights.empty() ? 1 : static_cast<double>(of.weights[j]);
      sums[0] += weight * static_cast<double>(of.ratings[j]);
      sums[1] += weight;
      sums[2] += 1;
      by_item[static_cast<std::size_t>(of.items[j])] += weight;
    }
  }
}

void Als::work_users(int shard, exchange::Update& update) {
  const data::RowRange rows = rows_of(shard);
  const std::int64_t first = first_user_[static_cast<std::size_t>(shard)];
  const auto count = static_cast<std::size_t>(rows.end - rows.begin);
  const std::span<double> sums = update.dense<double>(2);
  std::vector<float> mine(count * width_), bias(count), w(width_);
  NormalScratch scratch;
  Terms terms;
  NormalEquations equations;
  equations.gram = is_explicit() ? nullptr : item_gram32_.data();
  for (std::size_t u = 0; u < count; ++u) {
    const UserRatings of = ratings_.of(rows.begin + static_cast<std::int64_t>(u));
    const std::size_t user = static_cast<std::size_t>(first) + u;
    set_terms(
        of.ratings, of.weights,
        [&](std::size_t j) {
          return biased_ ? item_bias_[static_cast<std::size_t>(of.items[j])] : 0.0F;
        },
        terms);
    const double penalty = ridge(terms.weight);
    std::copy_n(user_table_.data() + user * width_, width_, w.data());
    if (biased_) w[factors()] = user_bias_[user];
    sums[1] += penalty * squared(w.data(), numbers());
    equations.rows = {item_table_.data(), of.items.data(), of.items.size(), width_};
    equations.a = terms.a.data();
    equations.b = terms.b.data();
    equations.ridge = static_cast<float>(penalty);
    if (!of.items.empty()) {
      if (is_exact()) {
        solve_exactly(equations, numbers(), scratch, w.data());
      } else {
        solve_by_steps(equations, parameters_.cg_steps, scratch, w.data());
      }
      sums[0] += loss(terms, scratch.products);
      const std::span<float> to = update.touch<float>(0, static_cast<std::int64_t>(user));
      std::copy_n(w.data(), numbers(), to.begin());
    }
    sums[3] += penalty * squared(w.data(), numbers());
    std::copy_n(w.data(), width_, mine.data() + u * width_);
    if (!biased_) continue;
    bias[u] = w[factors()];
    mine[u * width_ + factors()] = 1;
  }
  if (!is_explicit()) add_gram(mine, width_, sums.subspan(4));

  // The part that the users, as they are now, leave for the items.
  ShardItems made;
  const ShardItems& items = by_item(shard, made);
  std::vector<float> row(width_);
  for (std::size_t i = 0; i < items.items.size(); ++i) {
    const auto begin = static_cast<std::size_t>(items.starts[i]);
    const std::size_t size = static_cast<std::size_t>(items.starts[i + 1]) - begin;
    const auto item = static_cast<std::size_t>(items.items[i]);
    const std::int32_t* of = items.users.data() + begin;
    set_terms(
        std::span(items.ratings.data() + begin, size),
        items.weights.empty() ? std::span<const float>()
                              : std::span(items.weights.data() + begin, size),
        [&](std::size_t j) { return bias[static_cast<std::size_t>(of[j])]; }, terms);
    std::copy_n(item_table_.data() + item * width_, width_, w.data());
    if (biased_) w[factors()] = item_bias_[item];
    std::fill(row.begin(), row.end(), 0.0F);
    scratch.prepare(size, width_);
    project({mine.data(), of, size, width_}, w.data(), terms.a.data(), terms.b.data(),
            scratch.products.data(), row.data());
    sums[2] += loss(terms, scratch.products);
    if (is_exact()) continue;
    const std::span<float> to = update.touch<float>(1, static_cast<std::int64_t>(item));
    std::copy_n(row.data(), numbers(), to.begin());
  }
}

void Als::work_items(int shard, exchange::Update& update) {
  ShardItems made;
  const ShardItems& items = by_item(shard, made);
  const float* table =
      user_table_.data() +
      static_cast<std::size_t>(first_user_[static_cast<std::size_t>(shard)]) * width_;
  std::vector<float> row(width_);
  NormalScratch scratch;
  Terms terms;
  for (std::size_t i = 0; i < items.items.size(); ++i) {
    const auto item = static_cast<std::size_t>(items.items[i]);
    if (!(left_[item] > kNothingLeft)) continue;
    const auto begin = static_cast<std::size_t>(items.starts[i]);
    const std::size_t size = static_cast<std::size_t>(items.starts[i + 1]) - begin;
    set_terms(
        std::span(items.ratings.data() + begin, size),
        items.weights.empty() ? std::span<const float>()
                              : std::span(items.weights.data() + begin, size),
        [](std::size_t) { return 0.0F; }, terms);
    std::fill(row.begin(), row.end(), 0.0F);
    scratch.prepare(size, width_);
    project({table, items.users.data() + begin, size, width_}, direction_.data() + item * width_,
            terms.a.data(), nullptr, scratch.products.data(), row.data());
    const std::span<float> to = update.touch<float>(0, static_cast<std::int64_t>(item));
    std::copy_n(row.data(), numbers(), to.begin());
  }
}

void Als::work_equations(int shard, exchange::Update& update) {
  ShardItems made;
  const ShardItems& items = by_item(shard, made);
  const std::int64_t first = progress_.step * items_at_once();
  const std::int64_t end = std::min(first + items_at_once(), this->items());
  const auto user = static_cast<std::size_t>(first_user_[static_cast<std::size_t>(shard)]);
  Terms terms;
  const std::size_t n = numbers();
  for (std::size_t i = 0; i < items.items.size(); ++i) {
    const std::int64_t item = items.items[i];
    if (item < first || item >= end) continue;
    const auto begin = static_cast<std::size_t>(items.starts[i]);
    const std::size_t size = static_cast<std::size_t>(items.starts[i + 1]) - begin;
    const std::int32_t* of = items.users.data() + begin;
    set_terms(
        std::span(items.ratings.data() + begin, size),
        items.weights.empty() ? std::span<const float>()
                              : std::span(items.weights.data() + begin, size),
        [&](std::size_t j) {
          return biased_ ? user_bias_[user + static_cast<std::size_t>(of[j])] : 0.0F;
        },
        terms);
    const std::span<double> to = update.touch<double>(0, item - first);
    for (std::size_t j = 0; j < size; ++j) {
      const float* f = user_table_.data() + (user + static_cast<std::size_t>(of[j])) * width_;
      double* row = to.data();
      for (std::size_t k = 0; k < n; row += ++k) {
        const double by = static_cast<double>(terms.a[j]) * static_cast<double>(f[k]);
        for (std::size_t m = 0; m <= k; ++m) row[m] += by * static_cast<double>(f[m]);
      }
      for (std::size_t k = 0; k < n; ++k) {
        row[k] += static_cast<double>(terms.b[j]) * static_cast<double>(f[k]);
      }
    }
  }
}

void Als::work_score(int shard, exchange::Update& update) const {
  const data::RowRange rows = rows_of(shard);
  const std::int64_t first = first_user_[static_cast<std::size_t>(shard)];
  const std::span<double> sums = update.dense<double>(0);
  std::vector<float> w(width_);
  NormalScratch scratch;
  Terms terms;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const UserRatings of = ratings_.of(row);
    const auto user = static_cast<std::size_t>(first + row - rows.begin);
    set_terms(
        of.ratings, of.weights,
        [&](std::size_t j) {
          return biased_ ? item_bias_[static_cast<std::size_t>(of.items[j])] : 0.0F;
        },
        terms);
    std::copy_n(user_table_.data() + user * width_, width_, w.data());
    if (biased_) w[factors()] = user_bias_[user];
    scratch.prepare(of.items.size(), width_);
    multiply({item_table_.data(), of.items.data(), of.items.size(), width_}, w.data(),
             scratch.products.data());
    sums[0] += loss(terms, scratch.products);
    sums[1] += ridge(terms.weight) * squared(w.data(), numbers());
  }
}

}  // namespace meanwhile::learn::factorize
