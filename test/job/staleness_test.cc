// Rounds that overlap, and workers that do not wait for each other: one answer, kept bounds, and
// records that give the same bits again.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "meanwhile/base/file.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/settle_staleness.h"
#include "meanwhile/learn/lagged.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/learn/settle.h"
#include "meanwhile/transport/threads.h"
#include "test/expect_error.h"
#include "test/learn/linear_data.h"

namespace meanwhile::job {
namespace {

using learn::RoundLearner;

constexpr int kShards = 8;

const learn::Entry& entry() { return learn::standard_registry().at("svm"); }

base::Json parameters(std::int64_t max_iter, double tol = 0) {
  base::Json given = {{"solver", "sgd"}, {"max_iter", max_iter}, {"tol", tol}, {"l2", 1e-3}};
  return learn::settle(entry(), nullptr, given);
}

const data::Part& rows() {
  static const data::Dataset data = test::dataset(test::rows_for(2, 3000, 12, 5, 0.6));
  static const data::Part part = data::whole(data, kShards, 5, 1);
  return part;
}

data::Part part_of(int rank, int workers) {
  data::Part part = rows();
  const auto mine = exchange::owned(kShards, rank, workers);
  for (data::Shard& shard : part.shards) {
    if (shard.index < mine.begin || shard.index >= mine.end) shard.blocks.clear();
  }
  return part;
}

// Trains on workers that are threads; `each` sets what differs. Returns the result of the first.
TrainResult on_workers(int workers, const std::function<std::unique_ptr<RoundLearner>()>& make,
                       const std::function<void(TrainOptions&)>& each = {},
                       RunDirectory* run = nullptr) {
  transport::ThreadGroup group(workers, 60);
  std::vector<TrainResult> results(static_cast<std::size_t>(workers));
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      try {
        const data::Part mine = part_of(rank, workers);
        TrainOptions options;
        options.threads = 1;
        options.seed = 5;
        options.transport = &group.member(rank);
        if (each) each(options);
        const auto learner = make();
        results[at] = train(*learner, mine, options, rank == 0 ? run : nullptr);
      } catch (const std::exception& e) {
        group.member(rank).fail(base::ErrorKind::kFailed, e.what());
        failures[at] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  for (const TrainResult& result : results) {
    EXPECT_EQ(result.model_sha256, results[0].model_sha256);
    EXPECT_EQ(result.rounds, results[0].rounds);
  }
  return results[0];
}

std::function<std::unique_ptr<RoundLearner>()> lagged(const base::Json& given, int lag) {
  return [=] { return learn::with_lag(entry().make(given), lag); };
}

TEST(Staleness, AFixedLagHasOneAnswerForAnyNumberOfWorkersAndThreads) {
  const base::Json given = parameters(9);
  std::set<std::string> all;
  for (const int lag : {0, 1, 2}) {
    std::set<std::string> models;
    for (const int workers : {1, 2, 3, 5, 8}) {
      models.insert(on_workers(workers, lagged(given, lag)).model_sha256);
    }
    for (const int threads : {1, 2, 5}) {
      const auto learner = lagged(given, lag)(), twin = lagged(given, lag)();
      TrainOptions options;
      options.threads = threads;
      options.seed = 5;
      options.twin = twin.get();  // rounds overlap on threads
      models.insert(train(*learner, rows(), options).model_sha256);
    }
    EXPECT_EQ(models.size(), 1u) << "lag " << lag;
    all.insert(*models.begin());
  }
  EXPECT_EQ(all.size(), 3u) << "a lag changes the model";
}

// A learner that goes back to an earlier model, and one that ends early, with rounds under way.
TEST(Staleness, RoundsUnderWayAreDroppedAlikeEverywhere) {
  base::Json restarts = parameters(14);
  restarts["learning_rate"] = 0;
  const base::Json converges = parameters(60, 0.01);
  for (const base::Json& given : {restarts, converges}) {
    std::set<std::string> models;
    std::set<std::int64_t> rounds;
    for (const int workers : {1, 3, 8}) {
      const TrainResult result = on_workers(workers, lagged(given, 1));
      models.insert(result.model_sha256);
      rounds.insert(result.rounds);
    }
    const auto learner = lagged(given, 1)(), twin = lagged(given, 1)();
    TrainOptions options;
    options.threads = 4;
    options.seed = 5;
    options.twin = twin.get();
    const TrainResult result = train(*learner, rows(), options);
    models.insert(result.model_sha256);
    rounds.insert(result.rounds);
    EXPECT_EQ(models.size(), 1u);
    EXPECT_EQ(rounds.size(), 1u);
  }
}

tables::RecordedRun recorded(const base::Json& given) {
  return {"svm", given.dump(), rows().sha256, 5, kShards};
}

// Says of a message that it is there when it was asked about a number of times that a seed draws:
// messages of several workers come in another order than they were sent in.
class ShuffledTransport final : public transport::Transport {
 public:
  ShuffledTransport(transport::Transport& of, std::uint64_t seed)
      : of_(of), random_(static_cast<unsigned>(seed * 64 + static_cast<unsigned>(of.rank()))) {}
  std::string name() const override { return of_.name(); }
  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  transport::Request send(int to, int tag, std::span<const std::byte> bytes) override {
    return of_.send(to, tag, bytes);
  }
  transport::Request receive(int from, int tag, std::span<std::byte> bytes) override {
    const transport::Request request = of_.receive(from, tag, bytes);
    asks_[request] = random_() % 4 == 0 ? static_cast<int>(random_() % 300) : 0;
    return request;
  }
  std::size_t wait(transport::Request request) override {
    asks_.erase(request);
    return of_.wait(request);
  }
  bool done(transport::Request request) override {
    const auto asks = asks_.find(request);
    if (asks != asks_.end() && asks->second-- > 0) return false;
    if (asks != asks_.end()) asks->second = 0;
    return of_.done(request);
  }
  void fail(base::ErrorKind kind, std::string_view message) noexcept override {
    of_.fail(kind, message);
  }

 private:
  transport::Transport& of_;
  std::mt19937 random_;
  std::map<transport::Request, int> asks_;  // in vain
};

// A run with fresh reads; its record.
struct Fresh {
  TrainResult result;
  tables::ReadsLog log;
};
// `shuffle`: a seed of the order in which messages come; 0: as they do.
Fresh fresh(const base::Json& given, int workers, int staleness, double checkpoint_s = 1e9,
            std::uint64_t shuffle = 0) {
  const TemporaryFolder folder;
  RunDirectory run = RunDirectory::create(folder.path() / "run");
  std::vector<std::unique_ptr<ShuffledTransport>> shuffled(static_cast<std::size_t>(workers));
  const auto clocks = [&](TrainOptions& options) {
    if (shuffle != 0) {
      auto& mine = shuffled[static_cast<std::size_t>(options.transport->rank())];
      mine = std::make_unique<ShuffledTransport>(*options.transport, shuffle);
      options.transport = mine.get();
    }
    options.checkpoint_seconds = checkpoint_s;
    options.clocks = {staleness, checkpoint_s, recorded(given), nullptr};
  };
  Fresh done;
  done.result = on_workers(
      workers, [&] { return entry().make(given); }, clocks, &run);
  const std::string bytes = base::read_file(run.path() / "reads.bin");
  done.log = tables::ReadsLog::read(std::as_bytes(std::span(bytes)), "reads.bin");
  return done;
}

std::string replayed(const base::Json& given, const tables::ReadsLog& log, int workers) {
  const auto shared = std::make_shared<const tables::ReadsLog>(log);
  return on_workers(
             workers,
             [&] { return with_replay(entry().make(given), entry(), given, shared, nullptr); })
      .model_sha256;
}

TEST(Staleness, FreshReadsKeepTheBoundAndCanBeReplayedByAnyNumberOfWorkers) {
  const base::Json given = parameters(12);
  for (const int workers : {1, 2, 3, 8}) {
    for (const int staleness : {2, 4}) {
      const Fresh run = fresh(given, workers, staleness);
      EXPECT_EQ(run.result.rounds, 12);
      const auto histogram = tables::staleness_histogram(run.log);
      EXPECT_LE(std::ssize(histogram), staleness + 1);
      for (const int again : {1, 3, 8}) {
        EXPECT_EQ(replayed(given, run.log, again), run.result.model_sha256)
            << workers << " workers, staleness " << staleness << ", replayed by " << again;
      }
    }
  }
}

TEST(Staleness, ArrivalsThatAreShuffledKeepTheBoundAndAreReplayed) {
  const base::Json given = parameters(15);
  std::int64_t stale = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Fresh run = fresh(given, 4, 3, 1e9, seed);
    const auto histogram = tables::staleness_histogram(run.log);
    EXPECT_LE(std::ssize(histogram), 4) << "seed " << seed;
    for (std::size_t lag = 1; lag < histogram.size(); ++lag) stale += histogram[lag];
    for (const int again : {1, 3, 8}) {
      EXPECT_EQ(replayed(given, run.log, again), run.result.model_sha256) << "seed " << seed;
    }
  }
  EXPECT_GT(stale, 0);
}

TEST(Staleness, ARunWithCheckpointsIsReplayedToo) {
  const base::Json given = parameters(10);
  const Fresh run = fresh(given, 3, 3, 1e-9);  // after every round
  EXPECT_GE(run.log.stretches().size(), 2u);
  EXPECT_EQ(replayed(given, run.log, 2), run.result.model_sha256);
}

// The record of a run of 3 workers, as it would be had the last one rested at the last clocks.
TEST(Staleness, ARunInWhichAWorkerRestedIsReplayedByAnyNumberOfWorkers) {
  const base::Json given = parameters(10);
  const Fresh run = fresh(given, 3, 4);
  ASSERT_EQ(run.log.stretches().size(), 1u);
  tables::Stretch stretch = run.log.stretches().front();
  stretch.worked = {10, 10, 7};
  for (std::int64_t clock = 7; clock < 10; ++clock) {
    const std::size_t at = stretch.place(clock, 2, 0);
    std::fill_n(stretch.lags.begin() + static_cast<std::ptrdiff_t>(at), 9, std::int16_t{0});
  }
  tables::ReadsLog made(run.log.run(), run.log.staleness(), run.log.size());
  made.add(stretch);
  const tables::ReadsLog log = tables::ReadsLog::read(made.bytes(), "reads.bin");
  std::set<std::string> models;
  for (const int again : {1, 2, 3, 8}) models.insert(replayed(given, log, again));
  EXPECT_EQ(models.size(), 1u);
  EXPECT_EQ(models.count(run.result.model_sha256), 0u);
}

TEST(Staleness, ARunThatConvergesEarlyIsReplayedToo) {
  const base::Json given = parameters(80, 0.02);
  const Fresh run = fresh(given, 3, 2);
  EXPECT_LT(run.result.rounds, 80);
  EXPECT_EQ(replayed(given, run.log, 2), run.result.model_sha256);
}

TEST(Staleness, FreshReadsComeToTheObjectiveOfRounds) {
  const base::Json given = parameters(30);
  const double rounds = on_workers(4, lagged(given, 0)).objective;
  const double overlapped = on_workers(4, lagged(given, 1)).objective;
  const double bounded = fresh(given, 4, 4).result.objective;
  EXPECT_LT(overlapped, 1.02 * rounds);
  EXPECT_LT(bounded, 1.02 * rounds);
}

TEST(Staleness, ARecordOfAnotherRunIsRefused) {
  const base::Json given = parameters(6);
  tables::ReadsLog log = fresh(given, 2, 2).log;
  SettledRun run;
  run.entry = &entry();
  run.parameters = given;
  run.seed = 6;
  run.replayed = std::make_shared<const tables::ReadsLog>(log);
  EXPECT_THAT(usage_error_of([&] { check_replay(run, rows()); }), testing::HasSubstr("seed"));
  run.seed = 5;
  check_replay(run, rows());
  run.parameters = parameters(7);
  EXPECT_THAT(usage_error_of([&] { check_replay(run, rows()); }),
              testing::HasSubstr("what the learner was given"));
}

// A record of which a clock is missing goes on where training has not ended: it says so.
TEST(Staleness, ARecordThatEndsEarlyEndsTheReplay) {
  const base::Json given = parameters(6);
  const tables::ReadsLog whole = fresh(given, 2, 2).log;
  tables::ReadsLog part(whole.run(), whole.staleness(), whole.size());
  tables::Stretch stretch = whole.stretches().front();
  stretch.clocks -= 2;
  stretch.lags.resize(static_cast<std::size_t>(stretch.clocks) * 8);
  part.add(stretch);
  const auto shared = std::make_shared<const tables::ReadsLog>(part);
  // Reads of the last clocks may have seen what is cut off.
  try {
    const TrainResult result = on_workers(
        1, [&] { return with_replay(entry().make(given), entry(), given, shared, nullptr); });
    EXPECT_THAT(result.stopped_because, testing::HasSubstr("record ends"));
  } catch (const base::Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("cannot be repeated"));
  }
}

}  // namespace
}  // namespace meanwhile::job
