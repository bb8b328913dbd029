#include "meanwhile/plan/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace meanwhile::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Point point(int workers, double seconds, double price) {
  Point point;
  point.workers = point.processes = workers;
  point.seconds = point.work = seconds;
  point.price = point.total_price = price;
  return point;
}

// Faster and dearer up to 8 workers, then slower.
const std::vector<Point> kUsual = {point(1, 100, 1), point(2, 55, 1.2), point(4, 32, 1.4),
                                   point(8, 30, 2.5), point(16, 45, 8)};

Wish in_time(double seconds) { return {seconds, std::nullopt}; }
Wish at_most(double price) { return {std::nullopt, price}; }

int answer(const std::vector<Point>& points, const Wish& wish) {
  const Choice choice = choose(points, wish);
  EXPECT_TRUE(choice.met);
  return choice.answer.workers;
}

TEST(Choose, WithoutAWishIsTheFastest) {
  const Choice choice = choose(kUsual, {});
  EXPECT_TRUE(choice.met);
  EXPECT_EQ(choice.answer.workers, 8);
  EXPECT_EQ(choice.fastest.workers, 8);
  EXPECT_EQ(choice.cheapest.workers, 1);
  EXPECT_EQ(choice.worth.workers, 4);  // 32 s are within a tenth of 30 s
  EXPECT_FALSE(choice.in_time);
  EXPECT_FALSE(choice.within_budget);
}

TEST(Choose, ADeadlineIsMetAsCheaplyAsCanBe) {
  EXPECT_EQ(answer(kUsual, in_time(1000)), 1);
  EXPECT_EQ(answer(kUsual, in_time(100)), 1);
  EXPECT_EQ(answer(kUsual, in_time(99)), 2);
  EXPECT_EQ(answer(kUsual, in_time(31)), 8);
  EXPECT_EQ(choose(kUsual, in_time(50)).in_time->workers, 4);
}

TEST(Choose, ABudgetIsSpentOnTime) {
  EXPECT_EQ(answer(kUsual, at_most(100)), 8);
  EXPECT_EQ(answer(kUsual, at_most(1.4)), 4);
  EXPECT_EQ(answer(kUsual, at_most(1.39)), 2);
  EXPECT_EQ(answer(kUsual, at_most(1)), 1);
  EXPECT_EQ(choose(kUsual, at_most(1.5)).within_budget->workers, 4);
}

TEST(Choose, BothWishesAreMetWhereTheyCanBe) {
  EXPECT_EQ(answer(kUsual, {.deadline_s = 60, .budget = 5}), 2);
  EXPECT_EQ(answer(kUsual, {.deadline_s = 40, .budget = 1.4}), 4);
}

TEST(Choose, AWishThatCannotBeMetGivesTheNearest) {
  const Choice late = choose(kUsual, in_time(10));
  EXPECT_FALSE(late.met);
  EXPECT_EQ(late.answer.workers, 8);
  EXPECT_FALSE(late.in_time);

  const Choice poor = choose(kUsual, at_most(0.5));
  EXPECT_FALSE(poor.met);
  EXPECT_EQ(poor.answer.workers, 1);
  EXPECT_FALSE(poor.within_budget);

  // In time, if only for more.
  const Choice dear = choose(kUsual, {.deadline_s = 31, .budget = 2});
  EXPECT_FALSE(dear.met);
  EXPECT_EQ(dear.answer.workers, 8);
  EXPECT_EQ(dear.in_time->workers, 8);
  EXPECT_EQ(dear.within_budget->workers, 4);
  EXPECT_EQ(choose(kUsual, {50, 0.5}).answer.workers, 4);
  // Not in time, but at least for the money; or as soon as can be.
  EXPECT_EQ(choose(kUsual, {10, 1.3}).answer.workers, 2);
  EXPECT_EQ(choose(kUsual, {10, 0.5}).answer.workers, 8);
}

TEST(Choose, OfAsFastTheFewestAndOfAsCheapTheFastest) {
  const std::vector<Point> ties = {point(9, 10, 3), point(3, 10, 3), point(5, 10, 3),
                                   point(1, 40, 3), point(2, 50, 9)};
  const Choice choice = choose(ties, {});
  EXPECT_EQ(choice.fastest.workers, 3);
  EXPECT_EQ(choice.cheapest.workers, 3);
  EXPECT_EQ(choice.worth.workers, 3);
  EXPECT_EQ(choose(ties, in_time(45)).answer.workers, 3);
}

TEST(Choose, CountsSeedingAndScoring) {
  std::vector<Point> points = {point(1, 100, 1), point(2, 50, 2)};
  points[1].seed = 40;
  points[1].score = 20;
  EXPECT_EQ(total_seconds(points[1]), 110);
  const Choice choice = choose(points, in_time(105));
  EXPECT_EQ(choice.fastest.workers, 1);
  EXPECT_EQ(choice.answer.workers, 1);
  points[0].total_price = 5;  // of which 1 is for rounds
  EXPECT_EQ(choose(points, {}).cheapest.workers, 2);
  EXPECT_EQ(choose(points, at_most(3)).answer.workers, 2);
}

TEST(Choose, OfOnePointIsThatPoint) {
  const std::vector<Point> one = {point(7, 12, 3)};
  for (const Wish& wish : {Wish{}, in_time(1), at_most(0)}) {
    const Choice choice = choose(one, wish);
    EXPECT_EQ(choice.answer.workers, 7);
    EXPECT_EQ(choice.fastest.workers, 7);
    EXPECT_EQ(choice.cheapest.workers, 7);
    EXPECT_EQ(choice.worth.workers, 7);
    EXPECT_EQ(choice.met, !wish.deadline_s && !wish.budget);
    EXPECT_THAT(choice.why, HasSubstr("100 % work"));
    EXPECT_THAT(choice.why, Not(HasSubstr("not asked")));
  }
}

TEST(Choose, SaysWhyNotMore) {
  std::vector<Point> points = {point(1, 100, 1), point(4, 40, 1), point(8, 50, 2)};
  points[1].work = 30, points[1].exchange = 10;
  points[2].work = 15, points[2].exchange = 35;
  const std::string why = choose(points, {}).why;
  EXPECT_THAT(why, HasSubstr("75 % work, 25 % exchange"));
  EXPECT_THAT(why, HasSubstr("with 8 workers, 15 s less of work would cost 25 s more"));
  points.pop_back();
  EXPECT_THAT(choose(points, {}).why, HasSubstr("more workers were not asked about"));
}

Machine machine() {
  Machine machine;
  machine.name = "test";
  machine.flops = 1e9;
  machine.network = Network{1e9, 1e-5, 1e-5};
  return machine;
}

Job job(double update_bytes) {
  Job job;
  job.learner = "test";
  job.shape = {1000, 10, 10'000};
  learn::Cost cost;
  cost.flops = 1e10;
  cost.bytes_read = 4e4;
  cost.update_bytes = update_bytes;
  cost.absorb_bytes = update_bytes;
  cost.kernel = "test";
  job.course = {{learn::Phase::kPrepare, 2, cost}, {learn::Phase::kTrain, 10, cost}};
  job.load_bytes = 4e4;
  return job;
}

Setting setting_at(Medium medium) {
  Setting setting;
  setting.medium = medium;
  return setting;
}

TEST(Curve, TakesTheFasterExchangeOnlyWhereItMay) {
  const std::vector<int> workers = {2, 64};
  for (const double bytes : {64.0, 1e8}) {
    Setting setting = setting_at(Medium::kNetwork);
    const auto best = curve(machine(), job(bytes), setting, workers, false);
    const auto allreduce = curve(machine(), job(bytes), setting, workers, true);
    setting.exchange = job::Exchange::kTree;
    const auto tree = curve(machine(), job(bytes), setting, workers, true);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      EXPECT_EQ(best[i].workers, workers[i]);
      EXPECT_EQ(best[i].seconds, std::min(allreduce[i].seconds, tree[i].seconds));
      EXPECT_EQ(allreduce[i].by, job::Exchange::kAllreduce);
      EXPECT_EQ(tree[i].by, job::Exchange::kTree);
    }
    EXPECT_EQ(best[1].by, bytes > 1e6 ? job::Exchange::kAllreduce : job::Exchange::kTree);
  }
}

TEST(WithRows, ChangesWhatGrowsWithRowsAndNothingElse) {
  const Job small = job(800), large = with_rows(small, 3000);
  EXPECT_EQ(large.shape.rows, 3000);
  EXPECT_EQ(large.shape.cols, 10);
  EXPECT_EQ(large.shape.stored, 30'000);
  EXPECT_DOUBLE_EQ(large.load_bytes, 12e4);
  ASSERT_EQ(large.course.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const learn::Stretch &a = small.course[i], &b = large.course[i];
    EXPECT_EQ(a.rounds, b.rounds);
    EXPECT_DOUBLE_EQ(b.round.flops, 3 * a.round.flops);
    EXPECT_DOUBLE_EQ(b.round.bytes_read, 3 * a.round.bytes_read);
    EXPECT_EQ(b.round.update_bytes, a.round.update_bytes);
    EXPECT_EQ(b.round.absorb_bytes, a.round.absorb_bytes);
  }
  EXPECT_EQ(with_rows(large, 1000).shape.stored, small.shape.stored);
  Job graph = small;
  graph.course[0].round.update_grows = true;
  const learn::Cost grown = with_rows(graph, 3000).course[0].round;
  EXPECT_DOUBLE_EQ(grown.update_bytes, 3 * small.course[0].round.update_bytes);
  EXPECT_DOUBLE_EQ(grown.absorb_bytes, 3 * small.course[0].round.absorb_bytes);
}

TEST(WeakCurve, HasTheSameWorkForEachWorker) {
  Machine m = machine();
  const std::vector<int> workers = {1, 2, 10, 100};
  const std::vector<Point> points = weak_curve(m, job(8e5), setting_at(Medium::kNetwork), workers);
  double exchange = -1;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    EXPECT_EQ(points[i].workers, workers[i]);
    EXPECT_NEAR(points[i].work, 100, 1e-9);
    EXPECT_GT(points[i].exchange, exchange);
    exchange = points[i].exchange;
    // Against one worker on all of these rows.
    EXPECT_NEAR(points[i].efficiency, points[0].seconds / points[i].seconds, 1e-3);
  }
  EXPECT_DOUBLE_EQ(points[0].efficiency, 1);
}

TEST(Exponent, OfAPowerLawIsItsPower) {
  const std::vector<double> x = {1, 2, 5, 30, 1000};
  for (const double power : {-2.0, -0.5, 0.0, 1.0 / 3, 1.0, 2.5}) {
    std::vector<double> y;
    for (const double value : x) y.push_back(7 * std::pow(value, power));
    EXPECT_NEAR(exponent(x, y), power, 1e-12);
  }
}

TEST(Exponent, OfOneSizeIsZero) {
  EXPECT_EQ(exponent(std::vector<double>{5}, std::vector<double>{3}), 0);
  EXPECT_EQ(exponent(std::vector<double>{5, 5}, std::vector<double>{3, 4}), 0);
}

std::vector<std::int64_t> doubled(std::int64_t rows, int times) {
  std::vector<std::int64_t> all;
  for (int i = 0; i < times; ++i) all.push_back(rows << i);
  return all;
}

// seconds = work / P + 2 sqrt(P) reads: least at P ~ work^(2/3), where it is ~ work^(1/3).
TEST(ScaleUp, WhereOnlyReadsCostIsTwoThirdsAndOneThird) {
  Machine m = machine();
  m.network.reset();
  Storage storage;
  storage.read = 1e6;
  storage.separate_reducers = true;
  m.storage = storage;
  // Squares of integers: nothing is rounded up.
  std::vector<int> squares;
  for (int root = 2; root <= 400; ++root) squares.push_back(root * root);
  const ScaleUp found =
      scale_up(m, job(2e5), setting_at(Medium::kStorage), squares, doubled(1'000'000, 7));
  ASSERT_EQ(found.sizes.size(), 7U);
  EXPECT_NEAR(found.workers_exponent, 2.0 / 3, 0.02);
  EXPECT_NEAR(found.seconds_exponent, 1.0 / 3, 0.02);
  for (std::size_t i = 1; i < found.sizes.size(); ++i) {
    EXPECT_EQ(found.sizes[i].rows, 2 * found.sizes[i - 1].rows);
    EXPECT_GT(found.sizes[i].best.workers, found.sizes[i - 1].best.workers);
  }
}

TEST(ScaleUp, OnAzureIsThatOfThePaper) {
  const Machine azure = open_machine("azure-small");
  Job what = job(8 * 1000 * 1002);
  what.shape = {500'000, 1000, 500'000'000};
  for (learn::Stretch& stretch : what.course) {
    stretch.round.flops = 2.0 * 500e6 * 1000;
    stretch.round.absorb_bytes = 0;
    stretch.round.kernel = "kmeans";
    stretch.round.outputs = 1000;
  }
  what.load_bytes = 0;
  std::vector<int> workers;
  for (int w = 1; w < 20'000; w += 1 + w / 200) workers.push_back(w);
  const ScaleUp found =
      scale_up(azure, what, setting_at(Medium::kStorage), workers, doubled(4'000'000, 7));
  EXPECT_NEAR(found.workers_exponent, 2.0 / 3, 0.03);
  EXPECT_NEAR(found.seconds_exponent, 1.0 / 3, 0.03);
  EXPECT_LT(found.sizes.back().best.workers, workers.back());
}

// Without an exchange all workers there are would be taken, and more.
TEST(ScaleUp, WhereNothingIsExchangedTakesAll) {
  const std::vector<int> workers = {1, 2, 4, 8};
  const ScaleUp found =
      scale_up(machine(), job(0), setting_at(Medium::kMemory), workers, doubled(1000, 4));
  EXPECT_NEAR(found.workers_exponent, 0, 1e-9);
  EXPECT_NEAR(found.seconds_exponent, 1, 1e-9);
  for (const auto& size : found.sizes) EXPECT_EQ(size.best.workers, 8);
}

}  // namespace
}  // namespace meanwhile::plan
