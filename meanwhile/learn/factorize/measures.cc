#include "meanwhile/learn/factorize/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/parallel.h"

namespace meanwhile::learn::factorize {

using base::counted;

namespace {

constexpr std::int64_t kUsersAtOnce = 64;

}  // namespace

RankMeasures rank_measures(std::span<const std::int32_t> list,
                           std::span<const std::int32_t> relevant, std::int64_t top) {
  double hits = 0, gain = 0, ideal = 0;
  const auto discount = [](std::size_t place) {
    return 1 / std::log2(static_cast<double>(place) + 2);
  };
  for (std::size_t place = 0; place < list.size(); ++place) {
    if (!std::binary_search(relevant.begin(), relevant.end(), list[place])) continue;
    hits += 1;
    gain += discount(place);
  }
  const std::size_t best = std::min(relevant.size(), static_cast<std::size_t>(top));
  for (std::size_t place = 0; place < best; ++place) ideal += discount(place);
  return {hits / static_cast<double>(top), hits / static_cast<double>(relevant.size()),
          gain / ideal};
}

Json measures_of(const Trained& trained, Feedback feedback, const RatingList& held_out,
                 const Rated& rated, std::int64_t top, int threads,
                 std::vector<std::string>& notes) {
  const Matched matched = match(trained, held_out);
  const bool is_explicit = feedback == Feedback::kExplicit;
  double squares = 0, sizes = 0, weight = 0;
  std::int64_t unknown = 0;
  std::vector<std::vector<std::int32_t>> relevant(static_cast<std::size_t>(trained.users()));
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    const std::int64_t user = matched.users[held_out.user[i]];
    const std::int64_t item = matched.items[held_out.item[i]];
    const auto rating = static_cast<double>(held_out.rating[i]);
    const double w = held_out.weight.empty() ? 1 : static_cast<double>(held_out.weight[i]);
    const bool is_known = user >= 0 && item >= 0;
    unknown += !is_known;
    if (is_explicit) {
      const double error = rating - trained.predict(user, item);
      squares += w * error * error;
      sizes += w * std::abs(error);
      weight += w;
    }
    if (!is_known || !(is_explicit ? rating >= trained.mean : rating > 0)) continue;
    relevant[static_cast<std::size_t>(user)].push_back(static_cast<std::int32_t>(item));
  }
  std::vector<std::int64_t> users;
  for (std::int64_t user = 0; user < trained.users(); ++user) {
    auto& items = relevant[static_cast<std::size_t>(user)];
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    if (!items.empty()) users.push_back(user);
  }
  const TopItems best(trained);
  std::vector<RankMeasures> of(users.size());
  std::vector<TopItems::Scratch> scratch(static_cast<std::size_t>(threads));
  base::ThreadPool pool(threads);
  const auto count = static_cast<std::int64_t>(users.size());
  pool.run((count + kUsersAtOnce - 1) / kUsersAtOnce, [&](std::int64_t task, int thread) {
    const std::int64_t end = std::min(count, (task + 1) * kUsersAtOnce);
    for (auto i = static_cast<std::size_t>(task * kUsersAtOnce); i < static_cast<std::size_t>(end);
         ++i) {
      const auto user = static_cast<std::size_t>(users[i]);
      const auto list =
          best.top(users[i], rated[user], top, scratch[static_cast<std::size_t>(thread)]);
      of[i] = rank_measures(list, relevant[user], top);
    }
  });
  RankMeasures mean;
  for (const RankMeasures& one : of) {
    mean.precision += one.precision;
    mean.recall += one.recall;
    mean.ndcg += one.ndcg;
  }
  const auto ranked = std::max(1.0, static_cast<double>(count));
  if (unknown > 0) {
    notes.push_back(
        fmt::format("{} of {}: the user or the item is not in the model{}", unknown,
                    counted(static_cast<std::int64_t>(held_out.size()), "pair"),
                    is_explicit ? "; predicted by the mean and the biases that are known" : ""));
  }
  Json json = {{"pairs", held_out.size()}, {"unknown", unknown}};
  if (is_explicit) {
    json["rmse"] = weight > 0 ? std::sqrt(squares / weight) : 0;
    json["mae"] = weight > 0 ? sizes / weight : 0;
  }
  json["top"] = top;
  json["ranked_users"] = count;
  json["precision"] = mean.precision / ranked;
  json["recall"] = mean.recall / ranked;
  json["ndcg"] = mean.ndcg / ranked;
  return json;
}

}  // namespace meanwhile::learn::factorize
