// Workers that come, go and die, and a store at its worst: the same bits, and an end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/missing.h"
#include "test/runtime/jobs.h"
#include "test/storage/faulty.h"

namespace meanwhile::runtime {
namespace {

using testing::HasSubstr;

// Keeps `slots` workers at the job; each goes at a call of the store that the seed says, and
// another takes its place.
int replace_workers(const Job& job, unsigned seed, int slots) {
  SCOPED_TRACE(fmt::format("{}, seed {}", job.kind.name, seed));
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  std::vector<std::thread> threads;
  std::atomic<int> went = 0;
  for (int slot = 0; slot < slots; ++slot) {
    threads.emplace_back([&, slot] {
      std::mt19937 random(seed * 100 + static_cast<unsigned>(slot));
      for (int turn = 0; turn < 50; ++turn) {
        // The last ones stay.
        const int calls = turn < 6 ? 15 + static_cast<int>(random() % 150) : 1 << 30;
        std::atomic<int> made = 0;
        std::atomic<bool> stop = false;
        Hooks hooks;
        hooks.before = [&](const std::string&, const std::string&) {
          if (++made == calls) stop = true;
        };
        const auto opened = place.open(hooks);
        WorkerOptions options = quick(fmt::format("w{}-{}", slot, turn), 1 + turn % 2);
        options.stop = &stop;
        try {
          const WorkerResult result =
              work(opened->store, opened->meter, record, job.make(), options);
          if (result.ending != Ending::kInterrupted) return;
          ++went;
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_result(place, job, record);
  return went;
}

TEST(Workers, MayComeAndGoAtAnyTime) {
  unsigned turn = 0;
  int went = 0;
  for (const Kind& kind : all_kinds()) {
    if (++turn % 2 == 0)
      continue;  // state_test.cc covers every learner; here every other is enough
    const Job job(kind, turn % 4 == 1 ? 9 : 5);
    went += replace_workers(job, turn, 2);
  }
  for (const Kind& kind : stale_kinds()) {
    if (++turn % 2 == 0) went += replace_workers(Job(kind, 9), turn, 2);
  }
  EXPECT_GT(went, 0);
}

// As if its machine had gone: it can do nothing any more, not even say so.
TEST(Workers, MayDieAtAnyTime) {
  const Job job(toy({.max_iter = 6}), 9);
  for (const int calls : {30, 90, 170}) {
    SCOPED_TRACE(fmt::format("after {} calls", calls));
    Place place;
    const JobRecord record = job.submit(place, 1).job;
    std::atomic<int> made = 0;
    Hooks deadly;
    deadly.before = [&](const std::string&, const std::string&) {
      if (++made > calls) throw base::Error(base::ErrorKind::kSystem, "no network");
    };
    Workers workers(record);
    workers.start(place.open(deadly), quick("mortal"), job.make());
    workers.join();
    EXPECT_THAT(workers[0].error, HasSubstr("no network"));
    // Late enough, the result is there, and the heir has nothing to do.
    const bool ended = place.open()->store.blobs->get(record.names().result()).has_value();
    EXPECT_TRUE(!ended || calls > 90);
    workers.start(place.open(), quick("heir"), job.make());
    workers.join();
    EXPECT_EQ(workers[1].error, "");
    expect_result(place, job, record);
    // The bill has the dead worker's use, as far as it could tell.
    EXPECT_EQ(bill(*place.open()->store.blobs, record, {})["workers"], ended ? 1 : 2);
  }
}

TEST(Workers, GiveTheSameBitsOnAStoreAtItsWorst) {
  for (const Kind& kind :
       {toy({.max_iter = 4}),
        kmeans("kmeans", {{"n_clusters", 3}, {"init", "random"}, {"max_iter", 4}})}) {
    const Job job(kind, 9);
    for (const std::uint64_t seed : {1u, 2u}) {
      SCOPED_TRACE(fmt::format("{}, seed {}", kind.name, seed));
      Place place;
      const JobRecord record = job.submit(place, 2).job;
      storage::FaultCounts injected;
      Workers workers(record);
      for (unsigned w = 0; w < 3; ++w) {
        storage::Faults faults;
        faults.seed = seed * 10 + w;
        faults.late = faults.forgotten = faults.twice = faults.undead = 0.4;
        faults.cut = 0.2;
        faults.slow = 0.05;
        faults.slow_s = 0.002;
        auto opened = place.open();
        opened->store = storage::make_faulty(std::move(opened->store), faults, injected);
        workers.start(std::move(opened), quick(fmt::format("w{}", w)), job.make());
      }
      workers.join();
      for (std::size_t w = 0; w < 3; ++w) EXPECT_EQ(workers[w].error, "");
      expect_result(place, job, record);
      EXPECT_GT(injected.late, 0);
      EXPECT_GT(injected.cut, 0);
      EXPECT_GT(injected.forgotten, 0);
    }
  }
}

TEST(Workers, RepairAQueueThatHasLostMessages) {
  const Job job(toy({.max_iter = 3}), 9);
  Place place;
  Hooks leaky;
  leaky.lost = [](const std::string& body) {
    return body.find("root") != body.npos || body.find("group 1") != body.npos;
  };
  const JobRecord record = job.submit(*place.open(leaky), 1).job;
  Workers workers(record);
  for (const char* id : {"a", "b"}) workers.start(place.open(), quick(id), job.make());
  workers.join();
  for (std::size_t w = 0; w < 2; ++w) EXPECT_EQ(workers[w].error, "");
  expect_result(place, job, record);
}

// It holds all tasks, the root too, and goes on saying that it lives.
TEST(Workers, GoOnWithoutOneThatIsStuckForever) {
  const job::ToyParameters parameters = {.max_iter = 4, .seed_steps = 1};
  Job job(toy(parameters), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  std::atomic<bool> stuck = false, released = false;
  const MakeLearner make_stuck = [&](const data::SafetensorsFile& state) {
    auto learner = std::make_unique<job::ToyLearner>(parameters);
    learner->restore(state);
    learner->on_work = [&](std::int64_t round, int) {
      if (round < 2) return;
      stuck = true;
      stuck.notify_all();
      released.wait(false);
    };
    return learner;
  };
  Workers workers(record);
  workers.start(place.open(), quick("stuck"), make_stuck);
  stuck.wait(false);
  workers.start(place.open(), quick("other"), job.make(),
                [&](Workers::One&, const job::RoundEvent& event) {
                  if (!event.outcome.done()) return;
                  released = true;  // only when all is computed
                  released.notify_all();
                });
  workers.join();
  for (std::size_t w = 0; w < 2; ++w) EXPECT_EQ(workers[w].error, "");
  EXPECT_GT(workers[1].result.speculated, 0);
  expect_result(place, job, record);
}

TEST(Workers, GiveUpAfterTheTimeOutAndSayWhatIsMissing) {
  const Job job(toy(), 3);
  Place place;
  Hooks leaky;
  leaky.lost = [](const std::string& body) { return body.find("root") != body.npos; };
  const JobRecord record = job.submit(*place.open(leaky), 1).job;
  const auto opened = place.open(leaky);
  WorkerOptions options = quick("w");
  options.timeout_s = 1.5;
  try {
    work(opened->store, opened->meter, record, job.make(), options);
    FAIL();
  } catch (const base::Error& e) {
    EXPECT_EQ(e.kind(), base::ErrorKind::kFailed);
    EXPECT_THAT(e.what(), HasSubstr(record.names().total(0)));
    EXPECT_THAT(e.what(), HasSubstr("(root) is missing; no worker holds it"));
    EXPECT_THAT(e.what(), HasSubstr("`timeout`"));
  }
  // No harm is done: the next one goes on.
  place.open()->store.queue->push(message_of(record, {Task::Kind::kRoot, 0}));
  Workers workers(record);
  workers.start(place.open(), quick("next"), job.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, job, record);
}

TEST(Missing, NamesTheFirstBlobItsTaskAndItsOwner) {
  const Job job(toy(), 9);
  Place place;
  const auto opened = place.open();
  storage::BlobStore& blobs = *opened->store.blobs;
  const JobRecord record = job.submit(place).job;
  const Names names = record.names();
  const auto put = [&](const std::string& name) { blobs.put(name, json_bytes(Json::object())); };
  blobs.put(names.live("anna"), json_bytes({{"tasks", {"shard 2", "group 1"}}}));
  put(names.live("wants-tasks-berta"));
  EXPECT_EQ(missing_shards(blobs, record, 5), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_THAT(what_is_missing(blobs, record, 5),
              HasSubstr(names.update(5, 0, 0) + " (shard 0) is missing; no worker holds it"));
  put(names.update(5, 0, 0));
  put(names.update(5, 0, 1));
  EXPECT_THAT(what_is_missing(blobs, record, 5),
              HasSubstr(names.update(5, 0, 2) + " (shard 2) is missing; worker anna holds it"));
  const auto put_sum = [&](int group) { blobs.put(names.sum(5, group), seal({}, {})); };
  put_sum(0);
  EXPECT_EQ(missing_shards(blobs, record, 5), (std::vector<int>{4, 5, 6, 7, 8}));
  for (int shard = 4; shard < 9; ++shard) put(names.update(5, shard / 4, shard));
  EXPECT_EQ(missing_shards(blobs, record, 5), std::vector<int>{});
  EXPECT_THAT(what_is_missing(blobs, record, 5),
              HasSubstr(names.sum(5, 1) + " (group 1) is missing; worker anna holds it"));
  put(names.sum(5, 1));
  EXPECT_THAT(what_is_missing(blobs, record, 5),
              HasSubstr(names.sum(5, 1) + " (group 1) exists, but cannot be read in full"));
  put_sum(1);
  put_sum(2);
  EXPECT_THAT(what_is_missing(blobs, record, 5),
              HasSubstr(names.total(5) + " (root) is missing; no worker holds it"));
}

TEST(Keeper, ThrowsAwayMessagesThatAreNone) {
  const Job job(toy({.max_iter = 2}), 3);
  Place place;
  const JobRecord record = job.submit(place).job;
  const auto opened = place.open();
  for (const char* body : {"", "{", "[]", "5", "{}", R"({"job":5,"task":"root"})",
                           R"({"job":"other","task":"root"})"}) {
    opened->store.queue->push(body);
  }
  for (const Json& task : {Json(), Json(5), Json("shard 7"), Json("root")}) {
    opened->store.queue->push(Json{{"job", record.id}, {"task", task}}.dump());
  }
  Workers workers(record);
  workers.start(place.open(), quick("w"), job.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, job, record);
}

}  // namespace
}  // namespace meanwhile::runtime
