#include "meanwhile/learn/factorize/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/learn/factorize/measures.h"
#include "meanwhile/learn/factorize/ratings_file.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;

FactorModel::FactorModel(const data::SafetensorsFile& file)
    : parameters_(parameters_from_json(metadata_json(file, "parameters", "a model of factorize"))),
      trained_(Trained::of_file(file)) {}

void FactorModel::transform(const data::Dataset&, std::int64_t, std::int64_t, base::Threads,
                            std::span<double>) const {
  throw Error(ErrorKind::kUsage,
              "factorize knows users by name and does not transform rows; the factors of its users "
              "are the tensor user_factors of the model file");
}

Json FactorModel::evaluate(const data::Dataset&, base::Threads, const Measuring&) const {
  throw Error(ErrorKind::kUsage, "factorize is measured on pairs of users and items");
}

Json FactorModel::describe() const {
  return {{"users", trained_.users()},       {"items", trained_.items()},
          {"n_factors", trained_.n_factors}, {"feedback", to_string(parameters_.feedback)},
          {"biases", trained_.biased},       {"mean", trained_.mean}};
}

RatingList FactorModel::read(const PairFiles& files, bool need_ratings, int threads) const {
  if (files.paths.size() == 1 && holds_ratings(files.paths.front())) {
    return list_of(read_ratings_file(files.paths.front()));
  }
  RatingsInput input = parameters_.input;
  if (files.header) input.header = *files.header ? Header::kYes : Header::kNo;
  input.format = files.format;
  return read_rating_list(files.paths, input, need_ratings, threads);
}

Rated FactorModel::read_rated(const PairFiles& rated, int threads) const {
  if (rated.paths.empty()) return Rated(static_cast<std::size_t>(trained_.users()));
  return rated_in(trained_, read(rated, false, threads));
}

PairPredictions FactorModel::predict_pairs(const PairFiles& files, int threads,
                                           std::vector<std::string>& notes) const {
  RatingList list = read(files, false, threads);
  notes.insert(notes.end(), list.notes.begin(), list.notes.end());
  const Matched matched = match(trained_, list);
  PairPredictions answer;
  std::int64_t unknown = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t user = matched.users[list.user[i]], item = matched.items[list.item[i]];
    unknown += user < 0 || item < 0;
    answer.values.push_back(trained_.predict(user, item));
  }
  answer.user.assign(list.user.begin(), list.user.end());
  answer.item.assign(list.item.begin(), list.item.end());
  answer.users = std::move(list.users);
  answer.items = std::move(list.items);
  if (unknown > 0) {
    notes.push_back(
        fmt::format("{} of {}: the user or the item is not in the model; predicted {}", unknown,
                    base::counted(static_cast<std::int64_t>(answer.values.size()), "pair"),
                    parameters_.feedback == Feedback::kImplicit ? "as 0"
                    : trained_.biased ? "by the mean and the biases that are known"
                                      : "as the mean"));
  }
  return answer;
}

Json FactorModel::evaluate_pairs(const PairFiles& files, const PairFiles& rated, std::int64_t top,
                                 int threads, std::vector<std::string>& notes) const {
  const RatingList list = read(files, true, threads);
  notes.insert(notes.end(), list.notes.begin(), list.notes.end());
  return measures_of(trained_, parameters_.feedback, list, read_rated(rated, threads), top, threads,
                     notes);
}

std::vector<Recommendation> FactorModel::recommend(const std::vector<std::string>& users,
                                                   const PairFiles& rated, std::int64_t top,
                                                   int threads,
                                                   std::vector<std::string>& notes) const {
  const NameIndex index(trained_.user_names);
  std::vector<std::int64_t> known;
  for (const std::string& name : users) {
    if (const auto user = index.find(name)) known.push_back(*user);
  }
  if (known.empty() && !users.empty()) {
    throw Error(ErrorKind::kInput, "user '{}'{} not in the model, which knows {}", users.front(),
                users.size() == 1
                    ? " is"
                    : fmt::format(" and {} more are", static_cast<std::size_t>(users.size() - 1)),
                base::counted(trained_.users(), "user"));
  }
  if (known.size() < users.size()) {
    notes.push_back(fmt::format("{} of {} are not in the model and get no list",
                                users.size() - known.size(),
                                base::counted(static_cast<std::int64_t>(users.size()), "user")));
  }
  const Rated without = read_rated(rated, threads);
  const TopItems best(trained_);
  std::vector<Recommendation> lists(known.size());
  std::vector<TopItems::Scratch> scratch(static_cast<std::size_t>(threads));
  base::ThreadPool pool(threads);
  pool.run(static_cast<std::int64_t>(known.size()), [&](std::int64_t task, int thread) {
    const auto i = static_cast<std::size_t>(task);
    const std::int64_t user = known[i];
    lists[i].user = std::string(trained_.user_names.name(user));
    for (const std::int32_t item : best.top(user, without[static_cast<std::size_t>(user)], top,
                                            scratch[static_cast<std::size_t>(thread)])) {
      lists[i].items.emplace_back(trained_.item_names.name(item), trained_.predict(user, item));
    }
  });
  return lists;
}

}  // namespace meanwhile::learn::factorize
