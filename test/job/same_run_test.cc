#include "meanwhile/job/same_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "meanwhile/transport/threads.h"
#include "test/expect_error.h"

namespace meanwhile::job {
namespace {

using base::Json;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

Json some_run() {
  return {{"version", "0.2.0"},
          {"learner", "logistic"},
          {"parameters", {{"l2", 1e-4}, {"max_iter", 20}}},
          {"seed", 7},
          {"shards", 8}};
}

// The message that each worker throws; empty: none.
std::vector<std::string> messages_of(const std::vector<Json>& runs) {
  transport::ThreadGroup group(static_cast<int>(runs.size()), 20);
  std::vector<std::string> messages(runs.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        check_same_run(group.member(static_cast<int>(rank)), runs[rank]);
      } catch (const base::Error& e) {
        messages[rank] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

TEST(SameRun, IsSaidNothingOf) {
  for (const std::size_t workers : {1u, 2u, 3u, 5u, 8u}) {
    EXPECT_THAT(messages_of(std::vector<Json>(workers, some_run())), Each(""));
  }
}

TEST(SameRun, ThatDiffersIsNamedOnEveryWorkerWithBothValues) {
  for (const std::size_t other : {0u, 1u, 2u}) {
    std::vector<Json> runs(3, some_run());
    runs[other]["parameters"]["l2"] = 1.0;
    EXPECT_THAT(messages_of(runs), Each(AllOf(HasSubstr("`l2`"), HasSubstr("0.0001"),
                                              HasSubstr("1.0"), HasSubstr("worker 0"))));
  }
}

TEST(SameRun, ComparesAllThatTheModelDependsOn) {
  const std::vector<std::pair<const char*, Json>> changes = {
      {"version", "0.3.0"}, {"learner", "svm"}, {"seed", 8}, {"shards", 4}};
  for (const auto& [name, value] : changes) {
    std::vector<Json> runs(2, some_run());
    runs[1][name] = value;
    EXPECT_THAT(messages_of(runs), Each(AllOf(HasSubstr(name), HasSubstr(value.dump()),
                                              HasSubstr(runs[0][name].dump()))));
  }
}

TEST(SameRun, NamesWhatOnlyOneWorkerKnows) {
  for (const std::size_t knows : {0u, 1u}) {
    std::vector<Json> runs(2, some_run());
    runs[knows]["the rounds of the state to resume"] = 5;
    EXPECT_THAT(messages_of(runs), Each(HasSubstr("the rounds of the state to resume")));
  }
}

}  // namespace
}  // namespace meanwhile::job
