// Returns what became of a job on a seed.
//
// A run begins with the store as submit() left it. Workers come; another comes for each that dies,
// fails or is told to leave. Faults end at FaultModel::until_s, so that the job must end. What is
// promised, and checked:
//
//   - the model has the bits of threads, and the metrics have every round once;
//   - no worker ends with an error, unless its store failed;
//   - the job ends within a time and a number of steps;
//   - when all workers have left, only the result is at the store. Workers that died at the end may
//     leave more, as do listings that lag: then the next worker, or command, removes it.
#include "test/runtime/simulator.h"

#include <algorithm>
#include <sstream>

#include "meanwhile/runtime/storage/history.h"
#include "test/runtime/memory_learner.h"

namespace meanwhile::runtime {

namespace {

constexpr std::int64_t kMostSteps = 3'000'000;  // of a run
constexpr double kMostSeconds = 3600;
constexpr double kTimeoutSeconds = 240;  // a worker that gives up is a finding
constexpr double kLongestRequest = 3;    // a request of a dead worker arrives within this time
constexpr int kMostWorkers = 200;

// One run.
class Run {
 public:
  Run(const SimJob& job, const SimPlan& plan, bool trace)
      : job_(job), plan_(plan), world_(plan.seed, plan.faults), record_(job.record) {
    world_.traces = trace;
    record_.lease_s = plan.lease_s;
    record_.memory_every = plan.memory_every;
    job.store.copy_to(world_.store, world_.now_s, [&] {
      return world_.random.chance(plan.faults.late) ? world_.random.between(0, plan.faults.late_s)
                                                    : 0;
    });
    begin_s_ = world_.now_s;
    if (plan.faults.lost > 0) {
      std::erase_if(world_.store.letters, [&](const auto&) {
        const bool lost = world_.random.chance(plan.faults.lost);
        world_.counts.messages += lost ? 1 : 0;
        return lost;
      });
    }
    world_.on_end = [this](SimWorker& worker) { ended(worker); };
  }

  Simulation run() {
    for (int w = 0; w < plan_.workers; ++w) come();
    go_on();
    if (run_.findings.empty() && !has_result()) find("there is no result");
    for (int late = 0; late < plan_.late_joins && run_.findings.empty(); ++late) {
      come();
      go_on();
    }
    run_.seconds = world_.counts.virtual_s = world_.now_s - begin_s_;
    if (run_.findings.empty()) check();
    run_.counts = world_.counts;
    run_.trace = std::move(world_.trace);
    return std::move(run_);
  }

 private:
  void come() {
    const int number = started_++;
    world_.at(world_.now_s + world_.random.between(0, plan_.join_s), [this, number] {
      SimWorker& worker = world_.start(record_, fmt::format("w{}", number), make());
      worker.options.timeout_s = kTimeoutSeconds;
      worker.options.polls_per_task_s = plan_.polls_per_s;
      worker.options.memory_limit_bytes = plan_.memory_limit_bytes;
      if (world_.random.chance(plan_.slow_workers)) {
        worker.work_factor = world_.random.between(1, 20);
      }
      if (number < static_cast<int>(plan_.work_factors.size())) {
        worker.work_factor = plan_.work_factors[static_cast<std::size_t>(number)];
      }
      if (number < plan_.deaths) {
        worker.calls_left = plan_.calls > 0 ? plan_.calls : world_.random.among(10, 409);
      }
    });
  }

  MakeLearner make() {
    return job_.job.make([this](learn::RoundLearner& learner) {
      const auto spend = [this] { world_.compute(plan_.work_s); };
      if (auto* toy = dynamic_cast<job::ToyLearner*>(&learner)) {
        toy->on_work = [spend](std::int64_t, int) { spend(); };
      } else if (auto* memory = dynamic_cast<MemoryLearner*>(&learner)) {
        memory->on_work = spend;
      } else if (auto* moving = dynamic_cast<MovingLearner*>(&learner)) {
        moving->on_work = spend;
      } else if (auto* words = dynamic_cast<job::TableLearner*>(&learner)) {
        words->on_work = [spend](int) { spend(); };
      }
    });
  }

  // A worker has left or died.
  void ended(SimWorker& worker) {
    const bool failed = !worker.dead() && !worker.error().empty();
    if (failed && !worker.store_failed) {
      find(fmt::format("{} ends with an error: {}", worker.options.id, worker.error()));
    }
    if (!worker.dead() && !failed) {
      run_.speculated += worker.result().speculated;
      const Ending ending = worker.result().ending;
      if (ending == Ending::kGone) find(worker.options.id + " says that the job is gone");
      if (ending == Ending::kInterrupted && !worker.told_to_stop) {
        find(worker.options.id + " says that it was told to stop");
      }
      if (ending == Ending::kDone && !has_result()) find(worker.options.id + " left too early");
    }
    if (has_result() && !worker.dead()) return;
    if (started_ < kMostWorkers) come();
  }

  bool has_result() const { return exists(record_.names().result()); }
  bool exists(const std::string& name) const {
    const auto found = world_.store.blobs.find(name);
    return found != world_.store.blobs.end() && found->second.now.content != nullptr;
  }

  // Until all workers have left.
  void go_on() {
    while (run_.findings.empty() && world_.step()) {
      if (++steps_ > kMostSteps) find("too many steps");
      if (world_.now_s - begin_s_ > kMostSeconds) find("the job does not end");
      if (result_s_ < 0 && has_result()) result_s_ = world_.now_s;
    }
  }

  void find(const std::string& what) {
    run_.findings.push_back(what);
    world_.note("finding", what);
  }

  void check() {
    storage::Meter meter;
    SimLink link{world_.store, meter, &world_};
    storage::Store store = open_sim(link);
    // A request of a dead worker, or a write that others see late, may be on its way to the end.
    const double calm_s = result_s_ - kLongestRequest;
    const bool troubled =
        plan_.faults.late > 0 || world_.last_death_s >= calm_s || world_.last_failure_s >= calm_s;
    if (!troubled) check_left("when all have left");
    world_.now_s += kLongestRequest;
    find_ended(store, record_);
    check_left("after the next worker");
    SimClock clock(world_);
    std::string expected = job_.job.expected;
    try {
      const auto result = result_of(*store.blobs, record_, clock);
      if (result) expected = job_.job.expected_of(*result, run_.findings);
      if (result) run_.model = result->ended.value("model_sha256", "");
      if (result) check_metrics(*result);
      if (result) {
        const data::SafetensorsFile model(result->model, "model");
        for (const std::string& name : wrong_slices(*store.blobs, record_, model, clock)) {
          find(name + " is no slice of the model");
        }
      }
      run_.memory = memory_of_model(*store.blobs, record_, clock);
    } catch (const std::exception& e) {
      find(e.what());
    }
    if (run_.model != expected) find("the model has other bits: " + run_.model);
    if (run_.memory != job_.job.expected_memory) find("the memory has other bits");
  }

  void check_left(const char* when) {
    const Names names = record_.names();
    for (const auto& [name, item] : world_.store.blobs) {
      if (item.now.content == nullptr || name == Names::job() || name == names.result() ||
          name == names.model() || name == names.metrics() || name == names.recorded_reads() ||
          name.starts_with(names.model_memories()) || name.starts_with(names.usages()) ||
          name.starts_with(names.tables())) {
        continue;
      }
      find(fmt::format("{}, {} of {} is left behind", when, name, item.writer));
    }
    if (!world_.store.letters.empty()) {
      find(fmt::format("{}, {} messages are left behind", when, world_.store.letters.size()));
    }
  }

  void check_metrics(const Result& result) {
    std::int64_t rounds = 0;
    std::istringstream text(result.metrics);
    for (std::string line; std::getline(text, line);) {
      const Json json = Json::parse(line);
      if (json.contains("round") && json["round"] != ++rounds) {
        return find(fmt::format("the metrics have round {} in place of {}",
                                json["round"].get<std::int64_t>(), rounds));
      }
    }
    if (rounds != job_.job.rounds) {
      find(fmt::format("the metrics have {} of {} rounds", rounds, job_.job.rounds));
    }
  }

  const SimJob& job_;
  const SimPlan& plan_;
  SimWorld world_;
  JobRecord record_;
  Simulation run_;
  double begin_s_ = 0, result_s_ = -1;
  std::int64_t steps_ = 0;
  int started_ = 0;
};

}  // namespace

SimJob::SimJob(Job what) : job(std::move(what)) {
  storage::Meter meter;
  SimLink link{store, meter};
  OpenPlace place;
  place.store = open_sim(link);
  record = job.submit(place, 2).job;
}

Job memory_job(std::int64_t max_iter, int shards) {
  Job job(toy({.max_iter = 1}), shards);
  job.kind.name = "memory";
  job.kind.fresh = [=] { return std::make_unique<MemoryLearner>(max_iter); };
  const MemoryModel expected = serial_memory_model(job.part, max_iter);
  job.expected = expected.model;
  job.expected_memory = expected.memory;
  job.rounds = max_iter;
  return job;
}

Simulation simulate(const SimJob& job, const SimPlan& plan, bool trace) {
  return Run(job, plan, trace).run();
}

Simulation Simulator::run(std::uint64_t seed, bool trace) {
  const Drawn drawn = draw(seed);
  return simulate(job_of(drawn), drawn.plan, trace);
}

}  // namespace meanwhile::runtime
