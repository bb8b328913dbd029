// Tables at a store: the bits of threads for any number of workers, through kills and damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "meanwhile/runtime/storage/table_step.h"
#include "test/expect_error.h"
#include "test/runtime/survival.h"

namespace meanwhile::runtime {
namespace {

using testing::HasSubstr;

Job words_job(std::int64_t max_iter, int shards, bool remembers = false) {
  return Job(word_tables({.max_iter = max_iter, .words = 90, .width = 5, .remembers = remembers}),
             shards);
}

TEST(TablesAtAStore, GiveTheBitsOfThreadsForEveryNumberOfShardsAndWorkers) {
  for (const int shards : {1, 2, 7, 12}) {
    for (const bool remembers : {false, true}) {
      const Job job = words_job(4, shards, remembers);
      for (const std::vector<int>& threads :
           {std::vector{1}, std::vector{1, 2}, std::vector{1, 2, 1}, std::vector{1, 2, 1, 2}}) {
        expect_result_of_workers(job, threads);
      }
    }
  }
}

// Rows of one shard fit, and no slice is kept.
TEST(TablesAtAStore, NeedNoMemoryForTheTable) {
  const Job job = words_job(3, 7);
  Place place;
  const JobRecord record = job.submit(place, 2).job;
  Workers all(record);
  WorkerOptions options = quick("w");
  options.memory_limit_bytes = 1;
  all.start(place.open(), options, job.make());
  all.join();
  EXPECT_EQ(all[0].error, "");
  expect_result(place, job, record);
}

TEST(TablesAtAStore, SurviveAHundredKillsAtAnyCall) {
  for (const bool remembers : {false, true}) {
    expect_result_through_a_hundred_kills(SimJob(words_job(9, 9, remembers)));
  }
}

// Work, deltas, slices and the update included.
TEST(TablesAtAStore, SurviveTheDeathOfAWorkerAtEveryCallOfAnEarlyRound) {
  expect_result_through_a_death_at_every_call(SimJob(words_job(3, 4)), 200);
}

TEST(TablesAtAStore, DamagedDeltasAreMadeAgain) {
  for (const int shards : {4, 12}) {
    const SimJob job(words_job(4, shards));
    std::int64_t damaged = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(fmt::format("{} shards, seed {}", shards, seed));
      SimPlan plan;
      plan.seed = seed;
      plan.workers = 3;
      plan.faults.damage = 0.1;
      const Simulation run = simulate(job, plan);
      EXPECT_EQ(run.findings, std::vector<std::string>());
      damaged += run.counts.damaged;
    }
    EXPECT_GT(damaged, 20);
  }
}

// The worker that put the slice has it in memory, and does the work of the others. Where it does
// not, the slice cannot be made again: workers do not wait for it for ever.
TEST(TablesAtAStore, ASliceThatIsLostEndsTheJobWithItsNameUnlessAWorkerKeepsIt) {
  const SimJob job(words_job(6, 7));
  SimPlan plan;
  plan.seed = 3;
  plan.workers = 3;
  plan.faults.ruin = "/tables/counts/00002/00000003";
  EXPECT_EQ(simulate(job, plan).findings, std::vector<std::string>());
  plan.memory_limit_bytes = 1;
  const Simulation run = simulate(job, plan);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_THAT(run.findings.front(),
              HasSubstr("/tables/counts/00002/00000003: this slice of a table is missing, or "
                        "damaged: cancel the job and submit it again"));
}

// Blobs with a whole seal, which no worker of the job has written.
TEST(TablesAtAStore, HostileDeltasAndSlicesAreNotAdded) {
  const Job job = words_job(3, 4);
  const auto run = [&](const std::string& ruined, const Tensors& content) {
    Place place;
    const JobRecord record = job.submit(place, 2).job;
    Hooks hooks;
    std::atomic<bool> done = false;
    const auto plain = place.open();
    hooks.after = [&](const std::string& verb, const std::string& name) {
      if (verb != "put" || name.find(ruined) == name.npos || done.exchange(true)) return;
      plain->store.blobs->put(name, seal(content, {}));
    };
    Workers workers(record);
    workers.start(place.open(hooks), quick("w"), job.make());
    workers.join();
    if (workers[0].error.empty()) expect_result(place, job, record);
    return workers[0].error;
  };
  const std::vector<std::int64_t> foreign = {7, 0, 8}, counts = {0, 2, 8}, row = {77};
  const auto sections = [](const std::vector<std::int64_t>& words) {
    return data::tensor_of<std::int64_t>(words, {std::ssize(words) / 3, 3});
  };
  const data::Tensor rows = {"U8", {8}, std::as_bytes(std::span(row))};
  // A delta that is none is made again; one that adds rows of another slice ends the job.
  EXPECT_EQ(run("deltas/0000/00001", {}), "");
  EXPECT_EQ(run("deltas/0000/00001", {{"sections", sections(foreign)}, {"rows", rows}}), "");
  EXPECT_EQ(run("deltas/0000/00001", {{"sections", rows}, {"rows", rows}}), "");
  EXPECT_THAT(run("deltas/0000/00001", {{"sections", sections(counts)}, {"rows", rows}}),
              HasSubstr("slice 2 of the table counts: "));
}

TEST(TablesAtAStore, GoOnFromARunAndAreRefusedWithoutItsSlices) {
  const Job whole = words_job(5, 4);
  job::RunDirectory run = job::RunDirectory::create(job::fresh_path("run"));
  std::atomic<bool> stop = false;
  const job::TableParameters parameters{.max_iter = 5, .words = 90, .width = 5};
  job::TableLearner begun(parameters), learner(parameters);
  job::train(begun, whole.part, {.threads = 1, .seed = kSeed}, &run, &stop,
             [&](const job::RoundEvent& event) { stop = event.round == 2; });
  const std::filesystem::path state = run.newest_state();
  learner.restore(data::SafetensorsFile(state));
  Submission submission{whole.part, nullptr, learner};
  submission.seed = kSeed;
  submission.parameters = Json{{"kind", "tables"}};
  submission.rounds_done = learner.rounds;
  submission.resumed_from = state;
  Place place;
  std::filesystem::path slice = state;
  slice.replace_extension(".memory");
  slice /= "counts-00002.safetensors";
  std::filesystem::rename(slice, run.path() / "aside");
  EXPECT_THAT(
      error_of(base::ErrorKind::kInput, [&] { runtime::submit(place.open()->store, submission); }),
      HasSubstr("this slice of a table is missing"));
  EXPECT_EQ(place.blobs(), std::set<std::string>());
  std::filesystem::rename(run.path() / "aside", slice);
  const JobRecord record = runtime::submit(place.open()->store, submission).job;
  Workers workers(record);
  workers.start(place.open(), quick("a"), whole.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, whole, record);
}

// Old slices go with old rounds.
TEST(TablesAtAStore, TakeBoundedRoom) {
  const Job job = words_job(30, 3);
  Place place;
  const JobRecord record = job.submit(place, 2).job;
  std::size_t most = 0, most_deltas = 0;
  Workers workers(record);
  workers.start(place.open(), quick("a"), job.make(), [&](Workers::One&, const job::RoundEvent&) {
    std::size_t slices = 0, deltas = 0;
    for (const std::string& name : place.blobs()) {
      slices += name.find("/tables/counts/00001/") != name.npos ? 1 : 0;
      deltas += name.find("/deltas/") != name.npos ? 1 : 0;
    }
    most = std::max(most, slices);
    most_deltas = std::max(most_deltas, deltas);
  });
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, job, record);
  EXPECT_GE(most, 2u);
  EXPECT_LE(most, 12u);
  EXPECT_LE(most_deltas, 12u * 3 * 3);
}

// Requests for blobs whose name has `text`, by their kind.
std::int64_t count_calls(const Simulation& run, const std::string& verb, const std::string& text) {
  return std::count_if(run.trace.begin(), run.trace.end(), [&](const std::string& line) {
    return line.find(" " + verb) != line.npos && line.find(text) != line.npos;
  });
}

TEST(TablesAtAStore, MoveAsManyBlobsAsThePlanSays) {
  constexpr std::int64_t kRounds = 4;
  const SimJob job(words_job(kRounds, 9));
  for (const int workers : {1, 3}) {
    SCOPED_TRACE(fmt::format("{} workers", workers));
    SimPlan plan;
    plan.seed = 1;
    plan.workers = workers;
    const Simulation run = simulate(job, plan, true);
    EXPECT_EQ(run.findings, std::vector<std::string>());
    ASSERT_EQ(run.speculated, 0);
    const std::int64_t slices = count_calls(run, "put ", "/tables/");
    const TableCost cost = table_cost(job.record.layout(), workers, static_cast<int>(slices));
    EXPECT_EQ(count_calls(run, "put-if-absent ", "/deltas/"), kRounds * cost.deltas_put);
    EXPECT_EQ(count_calls(run, "get ", "/deltas/"), kRounds * cost.deltas_read);
    // The slices of the last round are read by no worker.
    EXPECT_LE(count_calls(run, "get ", "/tables/"), cost.slices_read);
    EXPECT_GE(count_calls(run, "get ", "/tables/"), cost.slices_read / 3);
  }
}

}  // namespace
}  // namespace meanwhile::runtime
