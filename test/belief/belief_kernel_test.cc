// The parts of belief propagation by themselves: functions of arrays, contraction, thresholds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "meanwhile/base/error.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/learn/belief/contract.h"
#include "meanwhile/learn/belief/course.h"
#include "meanwhile/learn/belief/shard_factors.h"
#include "meanwhile/learn/belief/vector_math.h"

namespace meanwhile::learn::belief {
namespace {

std::vector<double> uniform(std::size_t count, double low, double high) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> values(count + kVectorPadding, 1);
  for (std::size_t i = 0; i < count; ++i) values[i] = draw(random);
  return values;
}

TEST(BeliefKernel, ExpAndLogAreAccurate) {
  constexpr std::size_t kCount = 20'001;
  const auto x = uniform(kCount, -700, 700);
  auto y = x;
  exp_in_place(y.data(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_NEAR(y[i] / std::exp(x[i]), 1, 4e-16 * 2) << x[i];
  auto z = y;
  log_in_place(z.data(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_NEAR(z[i], std::log(y[i]), 4e-16 * std::max(1.0, std::abs(x[i]))) << y[i];
  }
  EXPECT_EQ(log_of(1.0), 0);
  EXPECT_NEAR(log_of(5e-324), std::log(5e-324), 1e-12);
  double zero[kVectorPadding + 1] = {2 * kZeroLog};
  exp_in_place(zero, 1);
  EXPECT_EQ(zero[0], 0);
}

TEST(BeliefKernel, MessagesAreTheSameBitsForEveryInstructionSet) {
  constexpr std::size_t kCount = 1003;
  const auto in = uniform(kCount, -50, 50), b = uniform(kCount, 0.01, 3),
             c = uniform(kCount, 0.1, 9), d = uniform(kCount, 1e-3, 5);
  const auto best = base::simd_target();
  std::vector<double> first;
  for (const std::string& target : base::simd_targets()) {
    base::limit_simd(target);
    std::vector<double> out(kCount + kVectorPadding);
    ratio_messages(in.data(), b.data(), c.data(), d.data(), kCount, 40, 0x1p-42, out.data());
    out.resize(kCount);
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << target;
  }
  base::limit_simd(best);
  for (std::size_t i = 0; i < kCount; ++i) {
    const double e = std::exp(in[i]);
    EXPECT_NEAR(first[i], std::log((b[i] + d[i] * e) / (1 + c[i] * e)), 1e-12);
    EXPECT_EQ(std::fmod(first[i], 0x1p-42), 0);
  }
}

TEST(BeliefKernel, ContractionIsWhatItsDefinitionSays) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> draw(0.1, 1);
  for (const std::vector<std::size_t>& cards : std::vector<std::vector<std::size_t>>{
           {2, 2}, {3, 4}, {2, 2, 2}, {1, 3, 1, 2}, {3, 1, 2, 2, 3}, {1, 1, 1}}) {
    std::size_t size = 1;
    std::vector<std::vector<double>> weights;
    for (const std::size_t card : cards) {
      size *= card;
      weights.emplace_back(card);
      for (double& w : weights.back()) w = draw(random);
    }
    std::vector<double> table(size);
    for (double& entry : table) entry = draw(random);
    std::vector<std::vector<double>> sums, most;
    for (const std::size_t card : cards) {
      sums.emplace_back(card, 0.0);
      most.emplace_back(card, 0.0);
    }
    for (std::size_t place = 0; place < size; ++place) {
      std::vector<std::size_t> state(cards.size());
      for (std::size_t i = cards.size(), rest = place; i-- > 0; rest /= cards[i]) {
        state[i] = rest % cards[i];
      }
      for (std::size_t j = 0; j < cards.size(); ++j) {
        double term = table[place];
        for (std::size_t i = 0; i < cards.size(); ++i) {
          if (i != j) term *= weights[i][state[i]];
        }
        sums[j][state[j]] += term;
        most[j][state[j]] = std::max(most[j][state[j]], term);
      }
    }
    const std::vector<std::span<const double>> in(weights.begin(), weights.end());
    ContractScratch scratch;
    for (int only = -1; only < static_cast<int>(cards.size()); ++only) {
      std::vector<std::vector<double>> out, largest;
      std::vector<double*> to, to_largest;
      for (const std::size_t card : cards) {
        out.emplace_back(card);
        largest.emplace_back(card);
      }
      for (std::size_t i = 0; i < cards.size(); ++i) {
        to.push_back(out[i].data());
        to_largest.push_back(largest[i].data());
      }
      contract<Marginal::kSum>(table.data(), in, only, to, scratch);
      contract<Marginal::kMax>(table.data(), in, only, to_largest, scratch);
      for (std::size_t j = 0; j < cards.size(); ++j) {
        if (only >= 0 && static_cast<int>(j) != only) continue;
        for (std::size_t k = 0; k < cards[j]; ++k) {
          EXPECT_NEAR(out[j][k], sums[j][k], 1e-14 * sums[j][k]);
          EXPECT_NEAR(largest[j][k], most[j][k], 1e-14 * most[j][k]);
        }
      }
    }
  }
}

TEST(BeliefCourse, TakesWholeBinsFromTheTop) {
  EXPECT_EQ(residual_bin(0), 0);
  for (const double residual : {1e-12, 1e-6, 0.3, 1.0, 40.0}) {
    const std::int64_t bin = residual_bin(residual);
    EXPECT_LE(bin_floor(bin), residual);
    EXPECT_GT(bin_floor(bin + 1), residual);
    EXPECT_LT(bin, kResidualBins);
  }
  Parameters p;
  p.schedule = Schedule::kResidual;
  p.top = 0.1;
  Course course(p);
  course.begin(100, 1);
  std::vector<std::int64_t> histogram(kResidualBins);
  histogram[900] = 60, histogram[950] = 35, histogram[1000] = 5;
  course.choose_threshold(histogram);
  EXPECT_EQ(course.threshold(), bin_floor(950));
}

TEST(BeliefCourse, GoesThroughTheOrderThereAndBack) {
  Parameters p;
  p.schedule = Schedule::kSweep;
  Course course(p);
  course.begin(40, 4);
  course.after_fields();
  std::vector<std::int64_t> places;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(course.step(), Step::kSweep);
    EXPECT_EQ(course.is_fresh(), i == 0);
    places.push_back(course.order());
    course.after_messages({1.0, 10});
  }
  EXPECT_EQ(places, (std::vector<std::int64_t>{3, 2, 1, 0, 1, 2, 3}));
  EXPECT_EQ(course.step(), Step::kCheck);
  course.after_check(1.0);  // not converged: on with the sweep
  EXPECT_EQ(course.step(), Step::kSweep);
  EXPECT_EQ(course.order(), 2);
}

TEST(BeliefCourse, KeepsTheFixedPointOfLargestLogZ) {
  Parameters p;
  Course course(p);
  course.begin(10, 1);
  course.after_fields();
  const auto converge = [&] {
    while (course.step() != Step::kCheck) course.after_messages({0.5 * p.tol, 10});
    course.after_check(0.5 * p.tol);
    EXPECT_EQ(course.step(), Step::kScore);
  };
  course.after_messages({1.0, 10});
  course.after_messages({1.0, 10});
  course.after_check(1.0);
  converge();
  EXPECT_TRUE(course.after_score(-3));
  EXPECT_EQ(course.attempt().schedule, Schedule::kResidual);
  EXPECT_TRUE(course.is_fresh());
  converge();
  EXPECT_TRUE(course.after_score(-2));
  EXPECT_EQ(course.step(), Step::kDone);
  EXPECT_EQ(course.best().log_z, -2);
  EXPECT_EQ(course.results().size(), 2U);
}

TEST(BeliefParameters, AreChecked) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, double>>{{"damping", 1},
                                                                               {"damping", -0.1},
                                                                               {"top", 0},
                                                                               {"top", 1.5},
                                                                               {"clip", 0},
                                                                               {"clip", 100}}) {
    Json json = to_json(Parameters{});
    json[name] = value;
    EXPECT_THROW(parameters_from_json(json), base::Error) << name;
  }
}

}  // namespace
}  // namespace meanwhile::learn::belief
