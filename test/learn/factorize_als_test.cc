// Alternating least squares against slow sums over all pairs, and its promises.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "meanwhile/base/simd.h"
#include "meanwhile/graph/part.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/factorize/als.h"
#include "meanwhile/learn/factorize/ratings_input.h"

namespace meanwhile::learn::factorize {
namespace {

constexpr int kShards = 4;

// Numbers that look random: those of a linear congruential generator.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : state_(seed) {}
  double operator()() {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<double>(state_ >> 8) / (1 << 24);
  }

 private:
  std::uint32_t state_;
};

// About a third of all pairs; the last user and the last item have none.
RatingList some_ratings(int users, int items, bool weighted, bool counts) {
  RatingList list;
  Draw draw(7);
  for (int u = 0; u < users; ++u) list.users.push_back("user " + std::to_string(u));
  for (int i = 0; i < items; ++i) list.items.push_back("item " + std::to_string(i));
  std::vector<float> ratings, weights;
  std::vector<std::uint32_t> user, item;
  for (int u = 0; u + 1 < users; ++u) {
    for (int i = 0; i + 1 < items; ++i) {
      if (draw() > 0.33) continue;
      user.push_back(static_cast<std::uint32_t>(u));
      item.push_back(static_cast<std::uint32_t>(i));
      const double grade = 3 + std::sin(u) * std::cos(i) + 0.5 * draw();
      ratings.push_back(counts ? static_cast<float>(std::floor(4 * draw()))
                               : static_cast<float>(grade));
      weights.push_back(static_cast<float>(1 + std::floor(3 * draw())));
    }
  }
  const auto fill = [](auto& to, const auto& from) {
    to.resize(from.size());
    std::copy(from.begin(), from.end(), to.begin());
  };
  fill(list.user, user);
  fill(list.item, item);
  fill(list.rating, ratings);
  if (weighted) fill(list.weight, weights);
  return list;
}

data::Part part_of(RatingList list) {
  return graph::whole(rows_of(std::move(list), Duplicates::kLast, "test"), kShards, 1);
}

struct Trial {
  job::TrainResult result;
  Trained model;
  std::vector<double> objectives;
};

Trained model_of(const Als& als) {
  const State state = als.state();
  std::map<std::string, data::Tensor> tensors = state.learned;
  const auto bytes = data::safetensors_bytes(tensors, {{"about", state.about.dump()}});
  return Trained::of_file(data::SafetensorsFile(bytes, "test"));
}

Trial train(const Parameters& parameters, const data::Part& part, int threads = 2) {
  job::TrainOptions options;
  options.threads = threads;
  options.shards = kShards;
  options.seed = 3;
  Als als(parameters);
  Trial run;
  run.result = job::train(als, part, options, nullptr, nullptr, [&](const job::RoundEvent& event) {
    if (event.outcome.phase == Phase::kPrepare) return;  // there is no model yet
    run.objectives.push_back(event.outcome.objective);
  });
  run.model = model_of(als);
  return run;
}

// The objective by a sum over all pairs, as als.cc has it.
double slow_objective(const Parameters& p, const RatingList& list, const Trained& model) {
  const auto users = static_cast<std::size_t>(model.users());
  const auto items = static_cast<std::size_t>(model.items());
  std::vector<double> rating(users * items, NAN), weight(users * items, 1);
  for (std::size_t j = 0; j < list.size(); ++j) {
    const std::size_t at = list.user[j] * items + list.item[j];
    rating[at] = static_cast<double>(list.rating[j]);
    if (!list.weight.empty()) weight[at] = static_cast<double>(list.weight[j]);
  }
  double loss = 0, total = 0;
  std::vector<double> of_user(users), of_item(items);
  for (std::size_t u = 0; u < users; ++u) {
    for (std::size_t i = 0; i < items; ++i) {
      const std::size_t at = u * items + i;
      const bool is_rated = !std::isnan(rating[at]);
      const double predicted =
          model.predict(static_cast<std::int64_t>(u), static_cast<std::int64_t>(i));
      if (p.feedback == Feedback::kImplicit) {
        const double r = is_rated ? rating[at] : 0;
        const double wanted = r > 0 ? 1 : 0;
        loss += (1 + p.alpha * r) * (wanted - predicted) * (wanted - predicted);
        total += is_rated ? 1 : 0;
      } else if (is_rated) {
        loss += weight[at] * (rating[at] - predicted) * (rating[at] - predicted);
        of_user[u] += weight[at];
        of_item[i] += weight[at];
        total += weight[at];
      }
    }
  }
  const auto add = [&](std::span<const float> row, double bias, double times) {
    double sum = bias * bias;
    for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
    loss += p.l2 * (p.feedback == Feedback::kImplicit ? 1 : times) * sum;
  };
  for (std::size_t u = 0; u < users; ++u) {
    add(model.user(static_cast<std::int64_t>(u)),
        model.biased ? static_cast<double>(model.user_biases[u]) : 0, of_user[u]);
  }
  for (std::size_t i = 0; i < items; ++i) {
    add(model.item(static_cast<std::int64_t>(i)),
        model.biased ? static_cast<double>(model.item_biases[i]) : 0, of_item[i]);
  }
  return loss / total;
}

std::vector<Parameters> kinds() {
  std::vector<Parameters> all;
  for (const Feedback feedback : {Feedback::kExplicit, Feedback::kImplicit}) {
    for (const std::int64_t steps : {0, 3}) {
      for (const bool biases : {true, false}) {
        if (!biases && feedback == Feedback::kImplicit) continue;
        Parameters p;
        p.feedback = feedback;
        p.cg_steps = steps;
        p.biases = biases;
        p.n_factors = 5;
        p.max_iter = 8;
        p.tol = 0;
        all.push_back(p);
      }
    }
  }
  return all;
}

TEST(FactorizeAls, TheObjectiveIsTheSumOverAllPairsAndNeverRises) {
  for (const Parameters& p : kinds()) {
    const bool counts = p.feedback == Feedback::kImplicit;
    for (const bool weighted : {false, true}) {
      if (weighted && counts) continue;
      SCOPED_TRACE(to_json(p).dump() + (weighted ? " weighted" : ""));
      const Trial run = train(p, part_of(some_ratings(40, 23, weighted, counts)));
      const RatingList list = some_ratings(40, 23, weighted, counts);
      ASSERT_GT(run.objectives.size(), 8U);
      EXPECT_NEAR(run.objectives.back() / slow_objective(p, list, run.model), 1, 1e-5);
      for (std::size_t i = 1; i < run.objectives.size(); ++i) {
        EXPECT_LE(run.objectives[i], run.objectives[i - 1] * (1 + 1e-6)) << "round " << i;
      }
      EXPECT_LT(run.objectives.back(), 0.9 * run.objectives.front());
    }
  }
}

TEST(FactorizeAls, AnExactPassLeavesNothingToGainForAnyItem) {
  for (Parameters p : kinds()) {
    if (p.cg_steps != 0) continue;
    p.max_iter = 2;
    const bool counts = p.feedback == Feedback::kImplicit;
    const RatingList list = some_ratings(40, 23, false, counts);
    Trial run = train(p, part_of(some_ratings(40, 23, false, counts)));
    const double best = slow_objective(p, list, run.model);
    for (std::size_t at = 0; at < run.model.item_factors.size(); at += 7) {
      for (const float step : {-0.01F, 0.01F}) {
        run.model.item_factors[at] += step;
        EXPECT_GE(slow_objective(p, list, run.model), best - 1e-7) << at;
        run.model.item_factors[at] -= step;
      }
    }
  }
}

TEST(FactorizeAls, ManyStepsComeToTheExactSolution) {
  for (const Feedback feedback : {Feedback::kExplicit, Feedback::kImplicit}) {
    Parameters p;
    p.feedback = feedback;
    p.n_factors = 4;
    p.max_iter = 3;
    p.tol = 0;
    const bool counts = feedback == Feedback::kImplicit;
    p.cg_steps = 0;
    const Trial exact = train(p, part_of(some_ratings(40, 23, false, counts)));
    p.cg_steps = 12;
    const Trial steps = train(p, part_of(some_ratings(40, 23, false, counts)));
    EXPECT_NEAR(steps.objectives.back() / exact.objectives.back(), 1, 1e-4);
  }
}

TEST(FactorizeAls, AWeightOfTwoIsTheRatingTwice) {
  Parameters p;
  p.n_factors = 4;
  p.max_iter = 4;
  p.tol = 0;
  RatingList twice = some_ratings(30, 20, true, false), once = some_ratings(30, 20, true, false);
  for (float& weight : once.weight) weight = 1;
  for (float& weight : twice.weight) weight = 2;
  const Trial a = train(p, part_of(std::move(once))), b = train(p, part_of(std::move(twice)));
  EXPECT_NEAR(a.objectives.back(), b.objectives.back(), 1e-6);
}

TEST(FactorizeAls, OneAnswerForAnyThreadsAndInstructionSets) {
  for (const Parameters& p : kinds()) {
    const bool counts = p.feedback == Feedback::kImplicit;
    const data::Part part = part_of(some_ratings(40, 23, false, counts));
    std::set<std::string> hashes;
    for (const int threads : {1, 2, 3}) hashes.insert(train(p, part, threads).result.model_sha256);
    const std::string best = base::simd_target();
    for (const std::string& target : base::simd_targets()) {
      base::limit_simd(target);
      hashes.insert(train(p, part).result.model_sha256);
    }
    base::limit_simd(best);
    EXPECT_EQ(hashes.size(), 1U) << to_json(p).dump();
  }
}

TEST(FactorizeAls, UsersAndItemsWithoutRatingsStayAtZero) {
  Parameters p;
  p.n_factors = 4;
  p.max_iter = 6;
  const Trial run = train(p, part_of(some_ratings(40, 23, false, false)));
  for (const float value : run.model.user(39)) EXPECT_EQ(value, 0);
  EXPECT_EQ(run.model.user_biases[39], 0);
  EXPECT_EQ(run.model.item_biases[22], 0);
}

}  // namespace
}  // namespace meanwhile::learn::factorize
