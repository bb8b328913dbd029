// Workers on ONE thread, with simulated time. Every activity of every worker is a fiber that gives
// way before and after each operation on the store, so that any two operations may be interleaved,
// and faults befall any of them. All is a function of a seed.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/runtime/storage/worker_machine.h"
#include "test/runtime/fiber.h"
#include "test/runtime/sim_faults.h"
#include "test/runtime/sim_store.h"

namespace meanwhile::runtime {

class SimWorld;

// A worker and its machine.
class SimWorker final : public Environment {
 public:
  SimWorker(SimWorld& world, const JobRecord& job, std::string id, MakeLearner make);
  ~SimWorker() override;

  double time_s() override;
  void wake(Activity activity) override;

  bool dead() const { return dead_; }
  // Whether the worker is over: it has left, or its machine is dead.
  bool ended() const { return ended_; }
  // The error that the worker ended with; empty when there was none.
  const std::string& error() const { return error_; }
  const WorkerResult& result() const { return result_; }

  WorkerOptions options;
  std::atomic<bool> told_to_stop = false;
  bool store_failed = false;     // an operation failed: the worker may end with an error
  std::int64_t calls_left = -1;  // the machine dies after so many operations; -1: never
  double work_factor = 1;        // a slow machine takes so many times as long
  std::function<void(const job::RoundEvent&)> observe;
  storage::Meter meter;

 private:
  friend class SimWorld;
  // An activity that runs.
  struct Strand {
    std::unique_ptr<Fiber> fiber;
    double due_s = 0;
    bool asleep = false, rung = false;  // wake() was called
  };
  void start(Activity activity, std::function<void()> body);
  void work();
  void drive(Activity activity);
  double global_s(double local_s) const { return (local_s - offset_s_) / rate_; }

  SimWorld& world_;
  const JobRecord& job_;
  const MakeLearner make_;
  SimLink link_;
  storage::Store store_;
  std::unique_ptr<WorkerMachine> machine_;
  std::array<Strand, kActivities.size()> strands_;
  bool dead_ = false, ended_ = false;
  double stopped_until_s_ = 0;
  double offset_s_ = 0, rate_ = 1;  // of its clock
  std::string error_;
  WorkerResult result_;
};

class SimWorld {
 public:
  SimWorld(std::uint64_t seed, const FaultModel& faults);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  // A worker that joins now.
  SimWorker& start(const JobRecord& job, const std::string& id, MakeLearner make);
  // Runs whatever is due first. Returns false when there is nothing.
  bool step();
  // Calls `act` at that time, on no fiber.
  void at(double time_s, std::function<void()> act) { acts_.emplace(time_s, std::move(act)); }
  void kill(SimWorker& worker);
  void note(const std::string& who, const std::string& what);

  // On a fiber: lets time pass. THROWS Error(kSystem) when the worker's machine is dead.
  void pass(double seconds);
  // The same for computing, which takes a slow machine longer.
  void compute(double seconds);

  // The fault of an operation of `worker`.
  struct Fate {
    enum class Death { kNone, kBefore, kInFlight, kAfter } death = Death::kNone;
    double request_s = 0, reply_s = 0, again_s = -1;
    bool fails_before = false, fails_after = false;
  };
  Fate draw_fate(SimWorker& worker, const char* verb, const std::string& name);
  [[noreturn]] void die(SimWorker& worker);
  bool quiet() const { return now_s >= faults.until_s; }  // faults are over

  double now_s = 0;
  SimRandom random;
  const FaultModel faults;
  FaultCounts counts;
  SimStore store;
  std::vector<std::unique_ptr<SimWorker>> workers;
  double last_death_s = -1e9, last_failure_s = -1e9;
  bool frozen = false;                     // a worker has stood still as FaultModel::freeze says
  std::function<void(SimWorker&)> on_end;  // a worker has left or died
  bool traces = false;
  std::vector<std::string> trace;

 private:
  friend class SimWorker;
  void stand_still(SimWorker& worker, double at_s, double seconds);
  void resume(SimWorker& worker, SimWorker::Strand& strand);
  void bury(SimWorker& worker);
  bool all_ended(const SimWorker& worker) const;

  SimWorker* worker_ = nullptr;  // whose fiber runs
  SimWorker::Strand* strand_ = nullptr;
  std::multimap<double, std::function<void()>> acts_;
};

// The clock of a client that waits on no fiber: nothing else goes on meanwhile.
class SimClock final : public base::Clock {
 public:
  explicit SimClock(SimWorld& world) : world_(world) {}
  double time_s() override { return world_.now_s; }
  void sleep(double seconds) override { world_.now_s += seconds; }

 private:
  SimWorld& world_;
};

}  // namespace meanwhile::runtime
