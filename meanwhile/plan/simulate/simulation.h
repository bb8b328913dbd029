// The common part of the simulations of simulate.cc.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "meanwhile/plan/predict.h"
#include "meanwhile/plan/simulate/fault_draws.h"

namespace meanwhile::plan {

// Events in the order of their time, those of one time in the order they were added.
template <class Event>
class Agenda {
 public:
  void add(double time, const Event& event) { queue_.push({time, added_++, event}); }
  bool empty() const { return queue_.empty(); }
  // Takes out the next event and goes on to its time.
  Event next() {
    const Entry entry = queue_.top();
    queue_.pop();
    now_ = entry.time;
    return entry.event;
  }
  double now() const { return now_; }

 private:
  struct Entry {
    double time;
    std::uint64_t nth;
    Event event;
    bool operator<(const Entry& other) const {
      return time != other.time ? time > other.time : nth > other.nth;
    }
  };
  std::priority_queue<Entry> queue_;
  std::uint64_t added_ = 0;
  double now_ = 0;
};

// A job as a simulation sees it: steps one after the other, those of a stretch alike.
struct SimInput {
  const Machine& machine;
  const Job& job;
  const Setting& setting;
  int workers;
  const FaultDraws& draws;
  std::vector<int> stretch_of;  // by step

  const learn::Cost& cost(int step) const {
    return job.course[static_cast<std::size_t>(stretch_of[static_cast<std::size_t>(step)])].round;
  }
  int steps() const { return static_cast<int>(stretch_of.size()); }
  int shards() const { return setting.shards > 0 ? setting.shards : workers; }
};

// The parts of a step.
struct StepTimes {
  double seconds = 0;  // from the end of the step before
  double work = 0, waiting = 0, exchange = 0, absorb = 0, recovery = 0;
};

struct SimTrace {
  std::vector<StepTimes> steps;
  double load = 0;      // before the first, had no worker died
  double requests = 0;  // beyond those predicted
  std::int64_t deaths = 0, speculated = 0;
};

SimTrace live_as_ranks(const SimInput& input);
// REQUIRES: input.machine.storage.
SimTrace live_at_store(const SimInput& input);

// THROWS Error(kFailed): so many deaths, and no step done since the first of them.
[[noreturn]] void refuse_deaths(std::int64_t deaths, int step);

}  // namespace meanwhile::plan
