// The real environment of a worker: threads, and the system's clock. No other file of this folder
// starts a thread, sleeps or asks a clock.
#include "meanwhile/runtime/storage/worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/worker_machine.h"

namespace meanwhile::runtime {

namespace {

constexpr int kDownloads = 4;             // of a reducer at the same time
constexpr double kLongestSeconds = 3600;  // of one wait: a wait without end is begun anew

// Counts calls of wake(), so that none between looking and waiting is missed.
class Bell {
 public:
  void ring() MW_EXCLUDES(mutex_) {
    {
      base::MutexLock lock(mutex_);
      ++rung_;
    }
    waiting_.notify_all();
  }
  std::uint64_t mark() const MW_EXCLUDES(mutex_) {
    base::MutexLock lock(mutex_);
    return rung_;
  }
  // Returns when the bell was rung after `mark`, or after `seconds`.
  void wait(std::uint64_t mark, double seconds) MW_EXCLUDES(mutex_) {
    using std::chrono::steady_clock;
    const auto until = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                                 std::chrono::duration<double>(seconds));
    base::MutexLock lock(mutex_);
    while (rung_ == mark && steady_clock::now() < until) waiting_.wait_until(mutex_, until);
  }

 private:
  mutable base::Mutex mutex_;
  base::Condition waiting_;
  std::uint64_t rung_ MW_GUARDED_BY(mutex_) = 0;
};

class ThreadEnvironment final : public Environment {
 public:
  double time_s() override { return base::now_s(); }
  void wake(Activity activity) override { bells_[index(activity)].ring(); }

  // Steps the activity until it ends.
  void drive(WorkerMachine& machine, Activity activity) {
    Bell& bell = bells_[index(activity)];
    for (;;) {
      const std::uint64_t mark = bell.mark();
      const Wait wait = machine.step(activity, time_s());
      if (wait.what == Awaits::kEnd) return;
      const double seconds = wait.until_s - time_s();
      if (wait.what != Awaits::kNothing && seconds > 0) {
        bell.wait(mark, std::min(seconds, kLongestSeconds));
      }
    }
  }

 private:
  std::array<Bell, kActivities.size()> bells_;
};

// Activities beside kRounds, each on a thread of its own, until the end of the block.
class ActivityThreads {
 public:
  ActivityThreads(ThreadEnvironment& environment, WorkerMachine& machine)
      : environment_(environment), machine_(machine) {
    std::vector<Activity> beside;
    for (const Activity activity : kActivities) {
      if (activity != Activity::kRounds) beside.push_back(activity);
    }
    threads_ = base::start_threads(
        static_cast<int>(beside.size()),
        [this, beside](int i) {
          environment_.drive(machine_, beside[static_cast<std::size_t>(i)]);
        },
        [this] { stop(); });
  }
  ~ActivityThreads() {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }
  ActivityThreads(const ActivityThreads&) = delete;
  ActivityThreads& operator=(const ActivityThreads&) = delete;

 private:
  void stop() {
    machine_.stop();
    for (const Activity activity : kActivities) environment_.wake(activity);
  }

  ThreadEnvironment& environment_;
  WorkerMachine& machine_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::optional<WorkerResult> find_ended(storage::Store& store, const JobRecord& job) {
  auto ended = ended_job(*store.blobs, job);
  if (!ended) return std::nullopt;
  tidy_up(store, job);
  WorkerResult result;
  result.rounds = base::count_or(*ended, "rounds", 0);
  result.ended = std::move(*ended);
  return result;
}

WorkerResult work(storage::Store& store, const storage::Meter& meter, const JobRecord& job,
                  const MakeLearner& make, const WorkerOptions& options,
                  const std::function<void(const job::RoundEvent&)>& observe) {
  if (auto ended = find_ended(store, job)) return std::move(*ended);
  ThreadEnvironment environment;
  WorkerMachine machine(store, meter, job, make, options, observe, kDownloads, environment);
  {
    const ActivityThreads beside(environment, machine);
    environment.drive(machine, Activity::kRounds);
  }
  return machine.take_result();
}

}  // namespace meanwhile::runtime
