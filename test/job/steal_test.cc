// Neighbours that take shards of each other: who made them never shows in the model.
#include "meanwhile/job/steal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/base/file.h"
#include "meanwhile/base/random.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/lagged.h"
#include "test/job/load_together.h"
#include "test/job/toy_learner.h"

namespace meanwhile::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> take_all(ShardQueue& queue) {
  queue.end();
  std::vector<int> shards;
  while (const std::optional<int> shard = queue.take()) shards.push_back(*shard);
  return shards;
}

TEST(ShardQueue, IsTakenFromTheMiddleOutwards) {
  ShardQueue queue({{4, 9}, 6, 6, 1});
  EXPECT_THAT(take_all(queue), ElementsAre(6, 7, 5, 8, 4));
  EXPECT_EQ(queue.made(), (exchange::Range{4, 9}));
}

TEST(ShardQueue, IsTakenFromTheEndThatHasNoNeighbour) {
  ShardQueue first({{0, 4}, 2, 0, 1}), last({{8, 12}, 10, 12, 1});
  EXPECT_THAT(take_all(first), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(take_all(last), ElementsAre(11, 10, 9, 8));
}

TEST(ShardQueue, GivesAwayWhatANeighbourHoldsAndHasNotBegun) {
  ShardQueue queue({{0, 4}, 2, 0, 1});
  EXPECT_EQ(queue.give(Side::kAfter, 1), 3);
  EXPECT_EQ(queue.give(Side::kAfter, 1), 2);
  EXPECT_EQ(queue.give(Side::kAfter, 1), std::nullopt) << "the neighbour has no rows of shard 1";
  EXPECT_EQ(queue.give(Side::kBefore, 1), std::nullopt);
  EXPECT_THAT(take_all(queue), ElementsAre(0, 1));
  EXPECT_EQ(queue.made(), (exchange::Range{0, 2}));

  ShardQueue begun({{4, 8}, 6, 6, 1});
  EXPECT_EQ(begun.take(), 6);
  EXPECT_EQ(begun.take(), 5);
  EXPECT_EQ(begun.take(), 7);
  EXPECT_EQ(begun.give(Side::kAfter, 1), std::nullopt);
  EXPECT_EQ(begun.give(Side::kBefore, 1), 4);
  EXPECT_EQ(begun.give(Side::kBefore, 1), std::nullopt);
  EXPECT_EQ(begun.made(), (exchange::Range{5, 8}));
}

TEST(ShardQueue, KeepsTheLastShardsWhereItIsDoneSooner) {
  ShardQueue queue({{0, 6}, 3, 0, 1});
  EXPECT_EQ(queue.take(), 0);
  queue.finished(1.0);
  // Five shards wait: the last of them would end here after 5 s.
  EXPECT_EQ(queue.give(Side::kAfter, 5.5), std::nullopt);
  EXPECT_EQ(queue.give(Side::kAfter, 4.5), 5);
  EXPECT_EQ(queue.give(Side::kAfter, 4.5), std::nullopt);
}

TEST(ShardQueue, TakesWhatLiesNextToItsShards) {
  ShardQueue queue({{4, 6}, 5, 5, 1});
  EXPECT_EQ(queue.take(), 5);
  EXPECT_EQ(queue.take(), 4);
  queue.add(3);
  queue.add(2);
  queue.add(6);
  EXPECT_THROW(queue.add(8), base::Error);
  EXPECT_EQ(take_all(queue).size(), 3u);
  EXPECT_EQ(queue.made(), (exchange::Range{2, 7}));
}

// Many rounds, one after the other, of workers that are slow in turn.
TEST(StealRound, MakesEveryShardOnceInAnyRace) {
  for (const int workers : {2, 3, 5, 8}) {
    for (const int shards : {1, 3, 8, 17, 40}) {
      SCOPED_TRACE(testing::Message() << workers << " workers, " << shards << " shards");
      constexpr std::uint32_t kRounds = 20;
      std::vector<std::vector<std::atomic<int>>> made(kRounds);
      for (auto& of_round : made) of_round = std::vector<std::atomic<int>>(40);
      const auto messages = run(workers, [&](transport::Transport& transport) {
        for (std::uint32_t round = 0; round < kRounds; ++round) {
          StealRound steal(transport, shards, 2);
          const exchange::Range held = exchange::held(shards, transport.rank(), workers);
          const base::Random random(1, base::Purpose::kUser, round,
                                    static_cast<std::uint32_t>(transport.rank()));
          const auto yields = random.below(0, 2) == 0 ? 0 : random.below(1, 300);
          const auto work = [&](int) {
            while (const std::optional<int> shard = steal.queue().take()) {
              for (std::uint64_t i = 0; i < yields; ++i) std::this_thread::yield();
              const bool is_held = held.begin <= *shard && *shard < held.end;
              made[round][static_cast<std::size_t>(*shard)] += is_held ? 1 : 1000;
              steal.queue().finished(1e-4);
            }
          };
          {
            const base::JoinThreads join(base::start_threads(2, work, [] {}));
            steal.serve();
          }
          const Shares shares = steal.settle({1, 0, 0});
          if (shares.votes.interrupted != workers || std::ssize(shares.bounds) != workers + 1) {
            throw std::runtime_error("not all workers are in the shares");
          }
        }
      });
      for (const std::string& message : messages) EXPECT_EQ(message, "");
      for (const auto& of_round : made) {
        for (int s = 0; s < shards; ++s) EXPECT_EQ(of_round[static_cast<std::size_t>(s)], 1);
      }
    }
  }
}

constexpr int kShards = 12, kSlow = 1;
constexpr std::int64_t kRows = 3000;

// A run of three workers with two replicas.
class Crew {
 public:
  using OnWork = std::function<void(int worker, std::int64_t round, int shard)>;

  explicit Crew(int lag, int workers = 3)
      : lag_(lag), workers_(workers), whole_(data::whole(toy_data(kRows, 3), kShards, 1, 1)) {}

  // As if there were one worker.
  std::string expected() const {
    const auto learner = make(0, {});
    return train(*learner, whole_, {.threads = 2}).model_sha256;
  }

  // Every worker's result, or what it threw.
  std::vector<std::string> train_all(const OnWork& on_work, Exchange exchange,
                                     RunDirectory* directory = nullptr,
                                     const std::atomic<bool>* stop_slow = nullptr) {
    results_.assign(static_cast<std::size_t>(workers_), {});
    return run(workers_, [&](transport::Transport& transport) {
      const int rank = transport.rank();
      data::Part part = whole_;
      const exchange::Range held = exchange::held(kShards, rank, workers_);
      for (data::Shard& shard : part.shards) {
        if (shard.index < held.begin || shard.index >= held.end) shard.blocks = {};
      }
      const auto learner = make(rank, on_work);
      results_[static_cast<std::size_t>(rank)] =
          train(*learner, part,
                {.threads = 1, .transport = &transport, .exchange = exchange, .replicas = 2},
                rank == 0 ? directory : nullptr, rank == kSlow ? stop_slow : nullptr);
    });
  }
  const TrainResult& result(int worker) const { return results_[static_cast<std::size_t>(worker)]; }

 private:
  std::unique_ptr<learn::RoundLearner> make(int worker, const OnWork& on_work) const {
    auto toy = std::make_unique<ToyLearner>(ToyParameters{.max_iter = 6, .learning_rate = 0.1});
    toy->lag = learn::kAnyLag;
    if (on_work) {
      toy->on_work = [=](std::int64_t round, int shard) { on_work(worker, round, shard); };
    }
    return learn::with_lag(std::move(toy), lag_);
  }

  const int lag_, workers_;
  const data::Part whole_;
  std::vector<TrainResult> results_;
};

// Holds the slow one of three workers in the shard that it begins a round with, until another
// worker has taken one of its shards; and the others, until the slow one has begun it.
class HoldUntilStolen {
 public:
  void operator()(int worker, int shard) {
    constexpr int kFirst[] = {0, 6, 11};  // shards, by worker, that no other takes then
    const exchange::Range slows = exchange::owned(kShards, kSlow, 3);
    base::MutexLock lock(mutex_);
    if (worker != kSlow && slows.begin <= shard && shard < slows.end) ++stolen_;
    int& round = rounds_[static_cast<std::size_t>(worker)];
    if (shard == kFirst[worker]) ++round;
    changed_.notify_all();
    if (shard != kFirst[worker]) return;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!released_ && (worker == kSlow ? stolen_ <= seen_ : rounds_[kSlow] < round)) {
      if (std::chrono::steady_clock::now() > until) {
        throw base::Error(base::ErrorKind::kFailed, "no shard was taken");
      }
      changed_.wait_until(mutex_, until);
    }
    if (worker == kSlow) seen_ = stolen_;
  }
  // The slow one begins no more rounds: the others are not to wait for it.
  void release() {
    base::MutexLock lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  int stolen() {
    base::MutexLock lock(mutex_);
    return stolen_;
  }

 private:
  base::Mutex mutex_;
  base::Condition changed_;
  int rounds_[3] = {};  // that each worker has begun
  int stolen_ = 0, seen_ = 0;
  bool released_ = false;
};

TEST(Steal, LeavesTheModelAsItIsWithoutStragglers) {
  for (const int lag : {0, 1, 3}) {
    for (const Exchange exchange : {Exchange::kAllreduce, Exchange::kTree}) {
      SCOPED_TRACE(testing::Message() << "lag " << lag << ", " << to_string(exchange));
      Crew crew(lag);
      HoldUntilStolen hold;
      const auto messages = crew.train_all(
          [&](int worker, std::int64_t, int shard) { hold(worker, shard); }, exchange);
      for (const std::string& message : messages) EXPECT_EQ(message, "");
      EXPECT_GT(hold.stolen(), 0);
      const std::string expected = crew.expected();
      for (int worker = 0; worker < 3; ++worker) {
        EXPECT_EQ(crew.result(worker).model_sha256, expected);
      }
    }
  }
}

TEST(Steal, WorksForAnyNumberOfWorkers) {
  for (const int workers : {2, 5, 8, 16}) {
    Crew crew(1, workers);
    const auto messages = crew.train_all({}, Exchange::kAllreduce);
    for (const std::string& message : messages) EXPECT_EQ(message, "");
    const std::string expected = crew.expected();
    for (int worker = 0; worker < workers; ++worker) {
      EXPECT_EQ(crew.result(worker).model_sha256, expected) << workers << " workers";
    }
  }
}

TEST(Steal, IsSeenInTheMetrics) {
  Crew crew(0);
  HoldUntilStolen hold;
  RunDirectory directory = RunDirectory::create(fresh_path("run"));
  crew.train_all([&](int worker, std::int64_t, int shard) { hold(worker, shard); },
                 Exchange::kAllreduce, &directory);
  std::istringstream lines(base::read_file(directory.path() / "metrics.jsonl"));
  int stolen = 0;
  for (std::string text; std::getline(lines, text);) {
    const base::Json line = base::Json::parse(text);
    if (!line.contains("stolen")) continue;
    stolen += line["stolen"].get<int>();
    int made = 0;
    for (const base::Json& of_worker : line["shards_of_workers"]) made += of_worker.get<int>();
    EXPECT_EQ(made, kShards);
  }
  EXPECT_GT(stolen, 0);
}

// The votes of a worker count wherever its shards are made.
TEST(Steal, StopsWhenTheStragglerIsToldTo) {
  Crew crew(1);
  HoldUntilStolen hold;
  std::atomic<bool> stop = false;
  const auto messages = crew.train_all(
      [&](int worker, std::int64_t round, int shard) {
        hold(worker, shard);
        if (worker == kSlow && round == 3) stop = true;
      },
      Exchange::kAllreduce, nullptr, &stop);
  for (int worker = 0; worker < 3; ++worker) {
    EXPECT_EQ(messages[static_cast<std::size_t>(worker)], "");
    EXPECT_TRUE(crew.result(worker).interrupted);
    EXPECT_EQ(crew.result(worker).rounds, crew.result(0).rounds);
  }
}

TEST(Steal, EndsAllWhenAThiefFails) {
  for (const int lag : {0, 1}) {
    Crew crew(lag);
    HoldUntilStolen hold;
    const auto messages = crew.train_all(
        [&](int worker, std::int64_t, int shard) {
          hold(worker, shard);
          const exchange::Range slows = exchange::owned(kShards, kSlow, 3);
          if (worker != kSlow && slows.begin <= shard && shard < slows.end) {
            throw base::Error(base::ErrorKind::kFailed, "no power");
          }
        },
        Exchange::kAllreduce);
    for (const std::string& message : messages) EXPECT_THAT(message, HasSubstr("no power"));
  }
}

TEST(Steal, EndsAllWhenTheStragglerFailsWhileItsShardsAreTaken) {
  for (const int lag : {0, 1}) {
    Crew crew(lag);
    HoldUntilStolen hold;
    const auto messages = crew.train_all(
        [&](int worker, std::int64_t round, int shard) {
          hold(worker, shard);
          if (worker == kSlow && round == 2) {
            hold.release();
            throw base::Error(base::ErrorKind::kFailed, "no power");
          }
        },
        Exchange::kAllreduce);
    for (const std::string& message : messages) EXPECT_THAT(message, HasSubstr("no power"));
  }
}

}  // namespace
}  // namespace meanwhile::job
