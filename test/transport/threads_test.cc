#include "meanwhile/transport/threads.h"

#include <gtest/gtest.h>

#include <exception>
#include <thread>
#include <vector>

#include "test/transport/conformance.h"

namespace meanwhile::transport {
namespace {

using conformance::Case;

// Runs a case on every worker and returns what went wrong first on each, by rank.
std::vector<std::string> problems(const Case& what, ThreadGroup& group) {
  std::vector<std::string> found(static_cast<std::size_t>(group.size()));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        what.run(group.member(rank));
      } catch (const std::exception& error) {
        found[static_cast<std::size_t>(rank)] = error.what();
        // The others must not wait for this one.
        group.member(rank).fail(base::ErrorKind::kFailed, error.what());
      }
    });
  }
  threads.clear();
  return found;
}

class ThreadsConform : public testing::TestWithParam<std::tuple<int, Case>> {};

TEST_P(ThreadsConform, Case) {
  const auto& [workers, what] = GetParam();
  ThreadGroup group(workers);
  EXPECT_EQ(problems(what, group), std::vector<std::string>(static_cast<std::size_t>(workers)));
}

class ThreadsFail : public testing::TestWithParam<std::tuple<int, Case>> {};

TEST_P(ThreadsFail, Case) {
  const auto& [workers, what] = GetParam();
  ThreadGroup group(workers, conformance::kShortDeadlineSeconds);
  EXPECT_EQ(problems(what, group), std::vector<std::string>(static_cast<std::size_t>(workers)));
}

const auto kNamed = [](const auto& info) {
  return std::get<1>(info.param).name + "On" + std::to_string(std::get<0>(info.param));
};
INSTANTIATE_TEST_SUITE_P(Transport, ThreadsConform,
                         testing::Combine(testing::Values(1, 2, 3, 5, 8),
                                          testing::ValuesIn(conformance::cases())),
                         kNamed);
INSTANTIATE_TEST_SUITE_P(Transport, ThreadsFail,
                         testing::Combine(testing::Values(1, 2, 3, 5, 8),
                                          testing::ValuesIn(conformance::last_cases())),
                         kNamed);

TEST(Threads, AFailureFromAnotherThreadEndsAWait) {
  ThreadGroup group(2);
  std::jthread other([&] { group.member(0).fail(base::ErrorKind::kInterrupted, "asked to stop"); });
  Bytes in(1);
  Transport& mine = group.member(0);
  try {
    mine.wait(mine.receive(1, 0, in));
    FAIL() << "the wait came back";
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(), "worker 0: asked to stop");
    EXPECT_EQ(error.kind(), base::ErrorKind::kInterrupted);
  }
}

}  // namespace
}  // namespace meanwhile::transport
