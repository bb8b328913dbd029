#include "meanwhile/tables/reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace meanwhile::tables {
namespace {

constexpr Bound kRules[] = {{0, Reads::kFixed}, {1, Reads::kFixed}, {3, Reads::kFixed},
                            {1, Reads::kFresh}, {2, Reads::kFresh}, {8, Reads::kFresh}};

TEST(Reads, RoundsSeeAllBeforeTheirOwn) {
  const Cut arrived = {5, 5, 7};
  EXPECT_TRUE(may_start(arrived, 5, {}));
  EXPECT_FALSE(may_start(arrived, 6, {}));
  EXPECT_EQ(seen(arrived, 5, 0, {}), Cut({5, 5, 5}));
}

TEST(Reads, AFixedLagSeesNoMoreThanItMust) {
  EXPECT_EQ(seen(Cut{9, 4, 6}, 5, 0, {1, Reads::kFixed}), Cut({4, 4, 4}));
}

TEST(Reads, FreshOnesSeeWhatHasArrivedAndAllOfTheirOwn) {
  EXPECT_EQ(seen(Cut{3, 5, 9}, 5, 1, {2, Reads::kFresh}), Cut({3, 5, 9}));
  EXPECT_EQ(seen(Cut{3, 2, 9}, 5, 1, {3, Reads::kFresh}), Cut({3, 5, 9}));
}

TEST(Reads, NothingIsRequiredOfTheFirstClocks) {
  for (const Bound bound : kRules) {
    EXPECT_EQ(required(0, bound), 0);
    EXPECT_EQ(required(bound.staleness, bound), 0);
    EXPECT_EQ(required(bound.staleness + 1, bound), 1);
  }
}

// Workers of a simulated cluster advance in random order; updates arrive late, but in order.
// jbosen's SSPDemo: every counter that a worker reads is at least its own clock less s, and all are
// equal in the end.
TEST(Reads, KeepTheirPromisesInAnyOrderOfArrival) {
  constexpr std::size_t kWorkers = 5;
  constexpr std::int64_t kClocks = 60;
  for (const Bound bound : kRules) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      std::mt19937 random(seed);
      Cut done(kWorkers, 0);
      std::vector<Cut> arrived(kWorkers, Cut(kWorkers, 0));  // at each worker, of each
      std::int64_t reads = 0;
      while (*std::min_element(done.begin(), done.end()) < kClocks) {
        const std::size_t to = random() % kWorkers, from = random() % kWorkers;
        if (arrived[to][from] < done[from] && random() % 3 != 0) ++arrived[to][from];
        const std::size_t w = random() % kWorkers;
        arrived[w][w] = done[w];
        if (done[w] == kClocks || !may_start(arrived[w], done[w], bound)) continue;
        const Cut cut = seen(arrived[w], done[w], w, bound);
        for (std::size_t source = 0; source < kWorkers; ++source) {
          EXPECT_GE(cut[source], done[w] - bound.staleness);
          EXPECT_GE(cut[source], required(done[w], bound));
          EXPECT_LE(cut[source], std::max(arrived[w][source], done[w]));
          EXPECT_LE(staleness(done[w], cut[source]), bound.staleness);
          EXPECT_GE(staleness(done[w], cut[source]), 0);
        }
        if (bound.reads == Reads::kFresh) {
          EXPECT_EQ(cut[w], done[w]);
        }
        if (bound.reads == Reads::kFixed) {
          EXPECT_EQ(cut, Cut(kWorkers, required(done[w], bound)));
        }
        ++done[w];
        ++reads;
        const auto [least, most] = std::minmax_element(done.begin(), done.end());
        EXPECT_LE(*most - *least, bound.staleness + 1);
      }
      EXPECT_EQ(reads, kClocks * static_cast<std::int64_t>(kWorkers));
    }
  }
}

// The iteration whose stability largest_step() states, run.
TEST(Reads, LongerStepsThanTheLargestDivergeWithAFixedLag) {
  for (const int lag : {1, 2, 4, 8}) {
    const auto size_after = [lag](double step) {
      std::vector<double> x(static_cast<std::size_t>(lag) + 1, 1.0);
      for (int t = 0; t < 20000; ++t) {
        x.push_back(x.back() - step * x[x.size() - 1 - static_cast<std::size_t>(lag)]);
      }
      double largest = 0;
      for (std::size_t i = x.size() - 50; i < x.size(); ++i) {
        largest = std::max(largest, std::abs(x[i]));
      }
      return largest;
    };
    EXPECT_LT(size_after(0.98 * largest_step(lag)), 1e-3) << lag;
    EXPECT_GT(size_after(1.02 * largest_step(lag)), 1e3) << lag;
  }
}

}  // namespace
}  // namespace meanwhile::tables
