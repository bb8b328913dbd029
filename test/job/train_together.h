// A learner that several workers, each a thread, train together in one run directory.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/train.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::job {

struct Way {
  int workers = 1;
  int threads = 1;
  Exchange exchange = Exchange::kAllreduce;
  std::int64_t memory_limit_bytes = 0;
};

struct Until {
  std::int64_t stop_after = 0;  // rounds of this call; 0: all
  double checkpoint_seconds = 1e9;
};

using MakeLearner = std::function<std::unique_ptr<learn::RoundLearner>()>;

// Begins with the newest state of the run, if there is one.
inline TrainResult train_together(const MakeLearner& make, const data::Part& part, const Way& way,
                                  RunDirectory* run, const Until& until = {}) {
  std::optional<std::filesystem::path> state;
  try {
    if (run != nullptr) state = run->newest_state();
  } catch (const base::Error&) {  // a new run
  }
  transport::ThreadGroup group(way.workers, 20);
  std::atomic<bool> stop = false;
  std::vector<TrainResult> results(static_cast<std::size_t>(way.workers));
  std::vector<std::exception_ptr> failures(results.size());
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < way.workers; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto learner = make();
        TrainOptions options{.threads = way.threads,
                             .seed = 3,
                             .checkpoint_seconds = until.checkpoint_seconds,
                             .memory_limit_bytes = way.memory_limit_bytes,
                             .transport = way.workers == 1 ? nullptr : &group.member(rank),
                             .exchange = way.exchange};
        if (state) {
          const data::SafetensorsFile file(*state);
          learner->restore(file);
          options.rounds_done = rounds_of(file);
          options.resumed_from = *state;
        }
        results[static_cast<std::size_t>(rank)] =
            train(*learner, part, options, rank == 0 ? run : nullptr, &stop,
                  [&, begun = options.rounds_done](const RoundEvent& event) {
                    if (rank == 0 && event.round - begun == until.stop_after) stop = true;
                  });
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  threads.clear();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  for (const TrainResult& result : results) {
    EXPECT_EQ(result.model_sha256, results[0].model_sha256);
  }
  return results[0];
}

// Another number of workers, and another exchange, go on after an interrupt in each of `rounds`.
inline void expect_same_model_after_interrupts(const MakeLearner& make, const data::Part& part,
                                               const std::vector<Way>& ways, std::int64_t rounds) {
  const std::string expected = train_together(make, part, {}, nullptr).model_sha256;
  for (std::int64_t round = 1; round < rounds - 1; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      SCOPED_TRACE(fmt::format("round {}, {} workers", round, ways[i].workers));
      RunDirectory run = RunDirectory::create(fresh_path("run"));
      EXPECT_TRUE(train_together(make, part, ways[i], &run, {.stop_after = round}).interrupted);
      const TrainResult result = train_together(make, part, ways[(i + 2) % ways.size()], &run);
      EXPECT_EQ(result.model_sha256, expected);
      EXPECT_EQ(result.rounds, rounds);
    }
  }
}

}  // namespace meanwhile::job
