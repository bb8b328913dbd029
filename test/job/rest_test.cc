// A worker that is far behind at the end rests: the others do not wait for its last clocks.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "meanwhile/job/clocks.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::job {
namespace {

constexpr int kWorkers = 4, kShards = 8;
constexpr int kBehind = 1;  // the worker that stands still, in its third clock
constexpr std::int64_t kClocks = 9, kNumbers = 50;

// Every shard moves all numbers by its number and one; it says how often it was worked on.
class CountingMoves final : public learn::Moves {
 public:
  explicit CountingMoves(std::function<void()> on_work) : on_work_(std::move(on_work)) {}
  std::size_t size() const override { return kNumbers; }
  std::size_t summary_size() const override { return 1; }
  void begin() override {}
  void work(int shard, std::span<double> move, std::span<double> summary) const override {
    on_work_();
    for (double& number : move) number = shard + 1;
    summary[0] = 1;
  }
  void look(std::span<const std::int64_t> moved, double unit) override {
    looks_at_ = static_cast<double>(moved.front()) * unit;
  }
  learn::Outcome settle(std::span<const double>) override { return {}; }
  double looks_at() const { return looks_at_; }

 private:
  const std::function<void()> on_work_;
  double looks_at_ = 0;
};

struct Ended {
  tables::Stretch stretch;
  double model = 0;
  std::vector<double> shards;  // that summaries of each clock are of
};

std::vector<Ended> run_with_one_behind() {
  transport::ThreadGroup group(kWorkers, 60);
  std::atomic<int> through = 0;  // workers that have done their last clock
  std::vector<Ended> ended(kWorkers);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorkers; ++rank) {
    threads.emplace_back([&, rank] {
      int works = 0;
      CountingMoves moves([&] {
        if (rank != kBehind || ++works != 2 * kShards / kWorkers + 1) return;
        while (through < kWorkers - 1) std::this_thread::yield();
      });
      base::ThreadPool pool(1);
      Clocks of(group.member(rank), moves, pool, kShards, tables::kUnbounded);
      of.begin();
      while (of.done() < kClocks) of.work({}, kClocks);
      ++through;
      Ended& mine = ended[static_cast<std::size_t>(rank)];
      mine.stretch = of.drain();
      mine.model = moves.looks_at();
      for (std::int64_t clock = 0; clock < kClocks; ++clock) {
        mine.shards.push_back(of.settle(clock).summary[0]);
      }
      of.close();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ended;
}

TEST(Rest, AWorkerThatIsFarBehindMovesNothingAtItsLastClocks) {
  const std::vector<Ended> ended = run_with_one_behind();
  const tables::Stretch& stretch = ended[0].stretch;
  ASSERT_EQ(stretch.worked.size(), std::size_t{kWorkers});
  double model = 0;
  int ended_all = 0;
  for (int worker = 0; worker < kWorkers; ++worker) {
    const std::int64_t worked = stretch.worked_by(worker);
    if (worker == kBehind) {
      // It may rest before its third clock already, if that came late. At the latest it knows that
      // the others are done when they have answered to the move of its third clock.
      EXPECT_GE(worked, 1);
      EXPECT_LE(worked, 4);
    } else {
      // On a busy machine another one may be two clocks behind, too; one is no reason to rest.
      EXPECT_NE(worked, kClocks - 1);
      ended_all += worked == kClocks;
    }
    for (const int shard : {2 * worker, 2 * worker + 1}) {
      model += static_cast<double>(worked) * (shard + 1) / kShards;
    }
  }
  EXPECT_GE(ended_all, kWorkers / 2) << "no worker may rest before half of the workers are done";
  for (const Ended& each : ended) {
    EXPECT_EQ(each.stretch.worked, stretch.worked);
    EXPECT_EQ(each.stretch.lags, stretch.lags);
    EXPECT_NEAR(each.model, model, 1e-6);
    // Rounds are settled as if it had worked.
    EXPECT_EQ(each.shards, std::vector<double>(kClocks, kShards));
  }
}

}  // namespace
}  // namespace meanwhile::job
