// SGD on ratings one after another, in the order that learn/factorize/sgd_ratings.h states, in
// plain loops that share no code with the learner but the schedule and the first factors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/factorize/trained.h"
#include "meanwhile/tables/rotation.h"

namespace meanwhile::test {

// Ratings of a user: by item.
using RatingRows = std::vector<std::map<std::int32_t, float>>;

class SerialSgd {
 public:
  struct Row {
    std::vector<float> factors;
    float bias = 0, squares = 1;
  };

  // `shards`: ranges of users. Sums of ratings must be exact in float64.
  SerialSgd(const learn::factorize::Parameters& p, const RatingRows& rows, std::size_t n_items,
            const std::vector<data::RowRange>& shards, std::uint64_t seed)
      : users(rows.size()), items(n_items), p_(p) {
    using learn::factorize::Side;
    double n = 0, sum = 0, squares = 0;
    std::vector<std::int64_t> counts(n_items);
    for (const auto& row : rows) {
      for (const auto& [item, rating] : row) {
        ++counts[static_cast<std::size_t>(item)];
        const double r = static_cast<double>(rating);
        n += 1, sum += r, squares += r * r;
      }
    }
    mean = p.biases ? sum / n : 0;
    scale = std::sqrt(squares / n - mean * mean);
    const auto begin = [&](std::vector<Row>& all, Side side, auto&& is_rated) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].factors.resize(k());
        for (std::size_t f = 0; is_rated(i) && f < k(); ++f) {
          all[i].factors[f] =
              learn::factorize::first_factor(seed, side, static_cast<std::int64_t>(i), f, k());
        }
      }
    };
    begin(users, Side::kUser, [&](std::size_t u) { return !rows[u].empty(); });
    begin(items, Side::kItem, [&](std::size_t i) { return counts[i] > 0; });

    std::vector<std::size_t> list(n_items), block(n_items), place(n_items);
    std::iota(list.begin(), list.end(), std::size_t{0});
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    const std::size_t S = shards.size();
    std::vector<std::size_t> sizes(S);
    for (std::size_t j = 0; j < n_items; ++j) {
      const std::size_t b = j / S % 2 == 0 ? j % S : S - 1 - j % S;
      block[list[j]] = b;
      place[list[j]] = sizes[b]++;
    }
    for (std::int64_t pass = 0; pass < p.max_iter; ++pass) {
      const tables::Rotation rotation(static_cast<int>(S), seed, pass);
      for (int step = 0; step < static_cast<int>(S); ++step) {
        for (std::size_t s = 0; s < S; ++s) {
          const auto b = static_cast<std::size_t>(rotation.block(static_cast<int>(s), step));
          cell(
              rows, shards[s], [&](std::size_t i) { return block[i] == b; }, place);
        }
      }
    }
  }

  double mean = 0, scale = 1;
  std::vector<Row> users, items;

  std::size_t k() const { return static_cast<std::size_t>(p_.n_factors); }

 private:
  template <class InBlock>
  void cell(const RatingRows& rows, data::RowRange shard, InBlock&& in_block,
            const std::vector<std::size_t>& place) {
    std::size_t ratings = 0, tile = 256;
    for (auto u = shard.begin; u < shard.end; ++u)
      ratings += rows[static_cast<std::size_t>(u)].size();
    const auto tiles = [&](std::size_t n) { return (n + tile - 1) / tile; };
    const auto count = static_cast<std::size_t>(shard.end - shard.begin);
    while (tile < 65536 && tiles(count) * tiles(items.size()) > ratings / 32) tile *= 2;
    // By tile of users, tile of items, user, item.
    std::map<std::pair<std::size_t, std::size_t>,
             std::vector<std::tuple<std::size_t, std::size_t, float>>>
        all;
    for (std::size_t u = 0; u < count; ++u) {
      const std::size_t user = static_cast<std::size_t>(shard.begin) + u;
      for (const auto& [number, rating] : rows[user]) {
        const auto item = static_cast<std::size_t>(number);
        if (in_block(item)) all[{u / tile, place[item] / tile}].emplace_back(user, item, rating);
      }
    }
    for (const auto& [where, listed] : all) {
      const std::size_t n = listed.size();
      std::size_t stride = std::max<std::size_t>(1, 5 * n / 8);
      while (std::gcd(stride, n) != 1) ++stride;
      std::vector<std::size_t> order(n);
      for (std::size_t i = 0; i < n; ++i) order[i * stride % n] = i;
      for (const std::size_t i : order) {
        const auto& [user, item, rating] = listed[i];
        learn_from(users[user], items[item], rating);
      }
    }
  }

  void learn_from(Row& user, Row& item, float rating) {
    float lanes[16] = {};
    for (std::size_t f = 0; f < k(); ++f) lanes[f % 16] += user.factors[f] * item.factors[f];
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    const auto value = static_cast<float>((static_cast<double>(rating) - mean) / scale);
    const float e = p_.biases ? value - user.bias - item.bias - lanes[0] : value - lanes[0];
    const auto rate = static_cast<float>(p_.learning_rate);
    const float h_u = rate / std::sqrt(user.squares), h_i = rate / std::sqrt(item.squares);
    const auto l2 = static_cast<float>(p_.l2 / scale), bias_l2 = static_cast<float>(p_.l2);
    for (std::size_t f = 0; f < k(); ++f) {
      const float p = user.factors[f], q = item.factors[f];
      user.factors[f] = (1 - h_u * l2) * p + h_u * e * q;
      item.factors[f] = (1 - h_i * l2) * q + h_i * e * p;
    }
    if (p_.biases) {
      user.bias = (1 - h_u * bias_l2) * user.bias + h_u * e;
      item.bias = (1 - h_i * bias_l2) * item.bias + h_i * e;
    }
    const float share = 1 / static_cast<float>(p_.n_factors);
    user.squares += share * (e * e);
    item.squares += share * (e * e);
  }

  const learn::factorize::Parameters p_;
};

}  // namespace meanwhile::test
