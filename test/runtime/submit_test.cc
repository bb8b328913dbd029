#include "meanwhile/runtime/storage/submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/runtime/jobs.h"

namespace meanwhile::runtime {
namespace {

using testing::HasSubstr;

Job small_job() { return Job(toy({.max_iter = 2, .seed_steps = 1}), 9); }

void finish(const Place& place, const Job& job, const JobRecord& record) {
  Workers workers(record);
  workers.start(place.open(), quick("last"), job.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, job, record);
}

TEST(Submit, PutsAJobThatWorkersFind) {
  const Job job = small_job();
  Place place;
  const Submitted submitted = job.submit(place, 3);
  EXPECT_EQ(submitted.found, Found::kNothing);
  const auto found = find_job(*place.open()->store.blobs);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_json(*found).dump(), to_json(submitted.job).dump());
  EXPECT_EQ(found->lease_s, 3);
  EXPECT_EQ(place.messages(), static_cast<int>(tasks_of(found->layout()).size()));
  finish(place, job, *found);
}

TEST(Submit, FindsTheSameJobRunningOrFinishedAndChangesNothing) {
  const Job job = small_job();
  Place place;
  const JobRecord record = job.submit(place, 3).job;
  const auto blobs = place.blobs();
  const Submitted again = job.submit(place, 5);
  EXPECT_EQ(again.found, Found::kRunning);
  EXPECT_EQ(again.job.id, record.id);
  EXPECT_EQ(again.job.lease_s, 3);  // what the job has, not what was asked
  EXPECT_EQ(place.blobs(), blobs);
  EXPECT_EQ(place.messages(), static_cast<int>(tasks_of(record.layout()).size()));
  finish(place, job, record);
  EXPECT_EQ(job.submit(place).found, Found::kFinished);
  expect_result(place, job, record);
}

TEST(Submit, RefusesAnotherJobAndSaysWhich) {
  const Job job = small_job(), other(toy({.max_iter = 2, .seed_steps = 1}), 8);
  Place place;
  const JobRecord record = job.submit(place).job;
  try {
    other.submit(place);
    FAIL();
  } catch (const base::Error& e) {
    EXPECT_EQ(e.kind(), base::ErrorKind::kUsage);
    EXPECT_THAT(e.what(), HasSubstr("another job (toy of 300 rows"));
    EXPECT_THAT(e.what(), HasSubstr("meanwhile cancel"));
  }
  finish(place, job, record);
}

// Dies at the nth call of the store, for every n.
class Deadly {
 public:
  explicit Deadly(int calls) : left_(calls) {}
  Hooks hooks() {
    Hooks hooks;
    hooks.before = [this](const std::string& verb, const std::string& name) {
      if (left_.fetch_sub(1) <= 0) {
        throw base::Error(base::ErrorKind::kSystem, "died before {} {}", verb, name);
      }
    };
    return hooks;
  }

 private:
  std::atomic<int> left_;
};

TEST(Submit, GoesOnWhereItWasInterruptedAnywhere) {
  const Job job = small_job();
  int deaths = 0;
  for (bool whole = false; !whole; ++deaths) {
    SCOPED_TRACE(fmt::format("after {} calls", deaths));
    Place place;
    Deadly deadly(deaths);
    try {
      EXPECT_EQ(job.submit(*place.open(deadly.hooks())).found, Found::kNothing);
      whole = true;
    } catch (const base::Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("died"));
    }
    const Submitted again = job.submit(place);
    if (whole) {
      EXPECT_EQ(again.found, Found::kRunning);
    }
    finish(place, job, again.job);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(deaths, 20);
}

TEST(Submit, OfAJobWhoseCancellingWasInterruptedAnywhereBeginsAnew) {
  const Job job = small_job();
  int deaths = 0;
  for (bool whole = false; !whole; ++deaths) {
    SCOPED_TRACE(fmt::format("after {} calls", deaths));
    Place place;
    const JobRecord record = job.submit(place, 1).job;
    Deadly deadly(deaths);
    base::SystemClock clock;
    try {
      cancel(place.open(deadly.hooks())->store, record, clock);
      whole = true;
    } catch (const base::Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("died"));
    }
    if (whole) {
      EXPECT_THAT(place.blobs(), testing::IsEmpty());
    }
    finish(place, job, job.submit(place).job);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(deaths, 15);
}

TEST(Submit, TellsItsProgress) {
  const Job job = small_job();
  Place place;
  const auto learner = job.kind.fresh();
  std::atomic<int> calls = 0, most = 0;
  const auto opened = place.open();
  submit(opened->store, {job.part, nullptr, *learner}, [&](int there) {
    ++calls;
    for (int before = most; before < there && !most.compare_exchange_weak(before, there);) {
    }
  });
  EXPECT_EQ(calls, 9);
  EXPECT_EQ(most, 9);
}

}  // namespace
}  // namespace meanwhile::runtime
