// The planner against "K-means on Azure": what its model says, and what it measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/plan/predict.h"
#include "test/expect_error.h"
#include "test/plan/papers/azure_runs.h"
#include "test/plan/papers/compare.h"
#include "test/plan/papers/fit.h"

namespace meanwhile::plan::papers {
namespace {

using testing::HasSubstr;

const Setting kStorage{.medium = Medium::kStorage};

Job kmeans_of(double rows) {
  const learn::kmeans::KMeans kmeans({.n_clusters = 1000, .max_iter = 10});
  const auto N = static_cast<std::int64_t>(rows);
  const learn::Shape shape{.rows = N, .cols = 1000, .stored = N * 1000};
  return {.learner = "kmeans", .shape = shape, .course = kmeans.course(shape)};
}

const Job& kmeans_of_the_table() {
  static const Job job = kmeans_of(500000);
  return job;
}

int best_of(const Machine& machine, const Job& job) {
  return best_workers([&](int P) { return predict(machine, job, kStorage, P).seconds; }, 2, 400);
}

std::vector<TimedRun> runs_where(const std::function<bool(std::size_t)>& taken) {
  std::vector<TimedRun> runs;
  for (std::size_t i = 0; i < kAzureRuns.size(); ++i) {
    if (taken(i)) runs.push_back({kAzureRuns[i].P, kAzureRuns[i].seconds});
  }
  return runs;
}

// azure-small-measured without the constant that was fitted.
Fit fit_aggregate(std::span<const TimedRun> runs) {
  Machine machine = open_machine("azure-small-measured");
  machine.storage->aggregate = 0;
  const Unknown unknown{&Storage::aggregate, 1e7, 1e9};
  return fit_storage(machine, kmeans_of_the_table(), kStorage, runs, {&unknown, 1});
}

double percent_off(const Machine& machine, std::span<const TimedRun> runs) {
  return error_percent(machine, kmeans_of_the_table(), kStorage, runs);
}

TEST(PlanOfAzureSmall, TheoreticalEfficiencyOfAllFourteenRows) {
  const Machine machine = open_machine("azure-small");
  for (const AzureRun& run : kAzureRuns) {
    const Point point = predict(machine, kmeans_of_the_table(), kStorage, run.P);
    EXPECT_NEAR(point.efficiency, run.theoretical_efficiency, 0.01) << run.P;
    EXPECT_EQ(point.processes, run.P + static_cast<int>(std::ceil(std::sqrt(run.P))) + 1);
  }
}

TEST(PlanOfAzureSmall, SequentialTimeAndOptimum) {
  const Machine machine = open_machine("azure-small");
  EXPECT_NEAR(sequential_seconds(machine, kmeans_of_the_table()), 22421.5, 0.5);
  const int best = best_of(machine, kmeans_of_the_table());
  EXPECT_GE(best, 169);
  EXPECT_LE(best, 171);
}

TEST(PlanOfAzureSmall, PricesOfThePaper) {
  const Machine machine = open_machine("azure-small");
  Job training = kmeans_of_the_table();  // without seeding and scoring, as the paper has it
  std::erase_if(training.course, [](const auto& s) { return s.phase != learn::Phase::kTrain; });
  const Point ten = predict(machine, training, kStorage, 10);
  EXPECT_NEAR(ten.price, 1.50, 0.001);  // requests: some hundreds
  EXPECT_GT(ten.price, 1.50);
  EXPECT_NEAR(predict(machine, training, kStorage, 160).price, 17.4, 0.01);
}

TEST(PlanOfAzureMeasured, AllRunsAndTheOptimumOfThem) {
  const Machine machine = open_machine("azure-small-measured");
  const std::vector<TimedRun> all = runs_where([](std::size_t) { return true; });
  EXPECT_LT(percent_off(machine, all), 4);  // 3.8
  const int best = best_of(machine, kmeans_of_the_table());
  EXPECT_GE(best, 81);  // measured: 95
  EXPECT_LE(best, 109);
  // The constants as the paper states them, which is what the limit is for.
  EXPECT_GT(percent_off(open_machine("azure-small"), all), 10);
}

TEST(PlanOfAzureMeasured, ShippedConstantIsTheOneThatFits) {
  const Fit fit = fit_aggregate(runs_where([](std::size_t) { return true; }));
  EXPECT_NEAR(fit.machine.storage->aggregate,
              open_machine("azure-small-measured").storage->aggregate, 0.5e6);
  EXPECT_LT(fit.error, 0.06);
}

TEST(PlanOfAzureMeasured, HalfOfTheRunsPredictTheOtherHalf) {
  const std::function<bool(std::size_t)> halves[] = {
      [](std::size_t i) { return i % 2 == 0; }, [](std::size_t i) { return i % 2 == 1; },
      [](std::size_t i) { return i < 7; }, [](std::size_t i) { return i >= 7; }};
  for (const auto& half : halves) {
    const Fit fit = fit_aggregate(runs_where(half));
    const auto others = runs_where([&](std::size_t i) { return !half(i); });
    EXPECT_EQ(others.size(), 7u);
    EXPECT_LT(percent_off(fit.machine, others), 10) << "of " << others.front().workers << "...";
  }
}

TEST(PlanOfAzureMeasured, EachRunIsPredictedByTheOthers) {
  double sum = 0, worst = 0;
  for (std::size_t left = 0; left < kAzureRuns.size(); ++left) {
    const Fit fit = fit_aggregate(runs_where([&](std::size_t i) { return i != left; }));
    const double error = percent_off(fit.machine, runs_where([&](auto i) { return i == left; }));
    sum += error;
    worst = std::max(worst, error);
  }
  EXPECT_LT(sum / static_cast<double>(kAzureRuns.size()), 5);  // 4.1
  EXPECT_LT(worst, 13);                                        // 160 workers: 12
}

TEST(PlanOfAzureMeasured, RunsOnLessDataArePredictedThoughNeverFitted) {
  const Machine machine = open_machine("azure-small-measured");
  double sum = 0;
  for (const AzureScaleup& run : std::span(kAzureScaleups).first(3)) {
    const TimedRun measured{run.best_workers, run.seconds};
    const double error = error_percent(machine, kmeans_of(run.N), kStorage, {&measured, 1});
    EXPECT_LT(error, 13) << run.N;
    sum += error;
  }
  EXPECT_LT(sum / 3, 7);  // 6.0
}

TEST(PlanOfAzureMeasured, LoadingOnTheMostWorkersTakesAboutTheMinuteThatWasSeen) {
  const Point point =
      predict(open_machine("azure-small-measured"), kmeans_of_the_table(), kStorage, 160);
  EXPECT_GT(point.load, 40);
  EXPECT_LT(point.load, 70);
}

TEST(FitStorage, FindsTheConstantsThatMadeTheTimes) {
  Machine truth = open_machine("azure-small");
  truth.storage->aggregate = 6e7;
  truth.storage->write = 3e6;
  std::vector<TimedRun> runs;
  for (const int P : {5, 10, 20, 40, 80, 160}) {
    runs.push_back({P, predict(truth, kmeans_of_the_table(), kStorage, P).seconds});
  }
  const Unknown unknowns[] = {
      {&Storage::read, 1e6, 1e8}, {&Storage::aggregate, 1e7, 1e9}, {&Storage::write, 1e6, 1e8}};
  const Machine start = open_machine("azure-small");
  const Fit fit = fit_storage(start, kmeans_of_the_table(), kStorage, runs, unknowns);
  EXPECT_NEAR(fit.machine.storage->read / 8e6, 1, 0.01);
  EXPECT_NEAR(fit.machine.storage->aggregate / 6e7, 1, 0.01);
  EXPECT_NEAR(fit.machine.storage->write / 3e6, 1, 0.01);
  EXPECT_LT(fit.error, 1e-3);
  EXPECT_EQ(fit_storage(start, kmeans_of_the_table(), kStorage, runs, unknowns).error, fit.error);
}

TEST(FitStorage, RefusesWhatCannotBeFitted) {
  const Unknown read{&Storage::read, 1e6, 1e8}, empty{&Storage::read, 1e8, 1e6};
  const auto refused = [](std::vector<TimedRun> runs, const Unknown& unknown, Machine machine) {
    return input_error_of([&] {
      fit_storage(machine, kmeans_of_the_table(), kStorage, runs, {&unknown, 1});
    });
  };
  const Machine azure = open_machine("azure-small");
  EXPECT_THAT(refused({}, read, azure), HasSubstr("0 runs for 1 unknown"));
  EXPECT_THAT(refused({{10, 0}}, read, azure), HasSubstr("a run of 0 s on 10 workers"));
  EXPECT_THAT(refused({{0, 5}}, read, azure), HasSubstr("on 0 workers"));
  EXPECT_THAT(refused({{10, 5}}, empty, azure), HasSubstr("expected a range above 0"));
  EXPECT_THAT(refused({{10, 5}}, read, open_machine("k40")), HasSubstr("nothing of storage"));
}

TEST(MachinesOfPapers, StateWhatThePapersState) {
  EXPECT_EQ(open_machine("azure-small").flops, 669e6);
  EXPECT_DOUBLE_EQ(open_machine("azure-small").rate("kmeans", false, 1000, 1000), 446e6);
  EXPECT_DOUBLE_EQ(open_machine("xeon-e3-1240").flops, 0.8 * 105.6e9);
  EXPECT_DOUBLE_EQ(open_machine("k40").flops, 0.5 * 4.28e12);
  for (const char* name : {"xeon-e3-1240", "k40"}) {
    EXPECT_EQ(open_machine(name).network.value().bandwidth, 1e9 / 8) << name;
  }
}

}  // namespace
}  // namespace meanwhile::plan::papers
