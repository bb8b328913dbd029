#include "test/runtime/sim_world.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/runtime/storage/worker.h"

namespace meanwhile::runtime {

namespace {

constexpr double kBeginSeconds = 1000;  // clocks do not begin at 0
constexpr double kFavoured = 30;
constexpr double kMutexSeconds = 0.003;  // between two tries to get a mutex
constexpr int kMostTurns = 1'000'000;    // of the fibers of a dead worker

}  // namespace

SimWorker::SimWorker(SimWorld& world, const JobRecord& job, std::string id, MakeLearner make)
    : world_(world),
      job_(job),
      make_(std::move(make)),
      link_{world.store, meter, &world, this},
      store_(open_sim(link_)) {
  options.id = std::move(id);
  options.polls_per_task_s = 1000;
  options.stop = &told_to_stop;
  if (world.faults.drift > 0) {
    offset_s_ = world.random.between(0, 100);
    rate_ = 1 + world.random.between(-world.faults.drift, world.faults.drift);
  }
}

SimWorker::~SimWorker() = default;

double SimWorker::time_s() { return world_.now_s * rate_ + offset_s_; }

void SimWorker::wake(Activity activity) {
  Strand& strand = strands_[index(activity)];
  strand.rung = true;
  if (strand.asleep) strand.due_s = std::min(strand.due_s, world_.now_s);
}

void SimWorker::start(Activity activity, std::function<void()> body) {
  Strand& strand = strands_[index(activity)];
  strand.due_s = world_.now_s;
  strand.fiber = std::make_unique<Fiber>(std::move(body));
}

// The loop of work() in worker.cc, on fibers.
void SimWorker::work() {
  try {
    if (auto ended = find_ended(store_, job_)) {
      result_ = std::move(*ended);
      return;
    }
    machine_ =
        std::make_unique<WorkerMachine>(store_, meter, job_, make_, options, observe, 1, *this);
    for (const Activity activity : kActivities) {
      if (activity != Activity::kRounds) start(activity, [=, this] { drive(activity); });
    }
    drive(Activity::kRounds);
    machine_->stop();
    for (const Activity activity : kActivities) wake(activity);
    if (!dead_) result_ = machine_->take_result();
  } catch (const std::exception& e) {
    error_ = e.what();
  }
}

// Steps the activity until it ends.
void SimWorker::drive(Activity activity) {
  Strand& strand = strands_[index(activity)];
  while (!dead_) {
    strand.rung = false;
    const Wait wait = machine_->step(activity, time_s());
    if (dead_ || wait.what == Awaits::kEnd) return;
    if (world_.traces && activity == Activity::kRounds) {
      world_.note(options.id, fmt::format("  rule: {}", machine_->last_rule()));
    }
    const double until_s = global_s(wait.until_s);
    if (wait.what == Awaits::kNothing || until_s <= world_.now_s || strand.rung) {
      strand.due_s = world_.now_s + world_.random.between(0, 0.0002);
      Fiber::give_way();
      continue;
    }
    strand.asleep = true;
    strand.due_s = until_s;
    Fiber::give_way();
    strand.asleep = false;
  }
}

SimWorld::SimWorld(std::uint64_t seed, const FaultModel& model)
    : now_s(kBeginSeconds), random(seed), faults([&] {
        FaultModel shifted = model;
        shifted.until_s += kBeginSeconds;
        return shifted;
      }()) {}

SimWorld::~SimWorld() {
  on_end = {};
  for (const auto& worker : workers) {
    if (!worker->ended()) kill(*worker);
  }
}

SimWorker& SimWorld::start(const JobRecord& job, const std::string& id, MakeLearner make) {
  SimWorker& worker =
      *workers.emplace_back(std::make_unique<SimWorker>(*this, job, id, std::move(make)));
  if (traces) note(id, "joins");
  worker.start(Activity::kRounds, [&worker] { worker.work(); });
  return worker;
}

void SimWorld::note(const std::string& who, const std::string& what) {
  if (traces) trace.push_back(fmt::format("{:.6f} {} {}", now_s - kBeginSeconds, who, what));
}

bool SimWorld::step() {
  SimWorker* first = nullptr;
  SimWorker::Strand* due = nullptr;
  for (const auto& worker : workers) {
    if (worker->ended_) continue;
    for (SimWorker::Strand& strand : worker->strands_) {
      if (strand.fiber == nullptr || strand.fiber->ended()) continue;
      strand.due_s = std::max(strand.due_s, worker->stopped_until_s_);
      if (due != nullptr && strand.due_s >= due->due_s) continue;
      due = &strand;
      first = worker.get();
    }
  }
  if (!acts_.empty() && (due == nullptr || acts_.begin()->first <= due->due_s)) {
    auto act = acts_.extract(acts_.begin());
    now_s = std::max(now_s, act.key());
    act.mapped()();
    return true;
  }
  if (due == nullptr) return false;
  now_s = std::max(now_s, due->due_s);
  resume(*first, *due);
  if (first->dead_) {
    bury(*first);
  } else if (all_ended(*first)) {
    first->ended_ = true;
    first->machine_.reset();
    if (traces) note(first->options.id, "has left " + first->error_);
    if (on_end) on_end(*first);
  }
  return true;
}

bool SimWorld::all_ended(const SimWorker& worker) const {
  return std::all_of(worker.strands_.begin(), worker.strands_.end(), [](const auto& strand) {
    return strand.fiber == nullptr || strand.fiber->ended();
  });
}

void SimWorld::resume(SimWorker& worker, SimWorker::Strand& strand) {
  worker_ = &worker;
  strand_ = &strand;
  strand.fiber->resume();
  if (strand.fiber->waits_for_mutex()) {
    strand.due_s = now_s + random.between(0, 2 * kMutexSeconds);
  }
  worker_ = nullptr;
  strand_ = nullptr;
}

void SimWorld::pass(double seconds) {
  SimWorker& worker = *worker_;
  strand_->due_s = now_s + seconds;
  Fiber::give_way();
  if (worker.dead_) throw base::Error(base::ErrorKind::kSystem, "the machine is dead");
}

void SimWorld::compute(double seconds) { pass(seconds * worker_->work_factor); }

void SimWorld::kill(SimWorker& worker) {
  if (worker.ended_) return;
  worker.dead_ = true;
  bury(worker);
}

void SimWorld::die(SimWorker& worker) {
  worker.dead_ = true;
  throw base::Error(base::ErrorKind::kSystem, "the machine is dead");
}

// Unwinds the fibers of a worker whose machine is dead, so that all they hold is freed. None of
// their operations has an effect any more.
void SimWorld::bury(SimWorker& worker) {
  if (traces) note(worker.options.id, "dies");
  for (int turns = 0; !all_ended(worker); ++turns) {
    if (turns > kMostTurns) throw base::Error(base::ErrorKind::kFailed, "a dead worker goes on");
    for (SimWorker::Strand& strand : worker.strands_) {
      if (strand.fiber != nullptr && !strand.fiber->ended()) resume(worker, strand);
    }
  }
  worker.machine_.reset();
  worker.ended_ = true;
  last_death_s = now_s;
  ++counts.kills;
  if (on_end) on_end(worker);
}

void SimWorld::stand_still(SimWorker& worker, double at_s, double seconds) {
  ++counts.stops;
  at(at_s, [this, &worker, seconds] {
    worker.stopped_until_s_ = std::max(worker.stopped_until_s_, now_s + seconds);
    if (traces) note(worker.options.id, fmt::format("stands still for {:.3f} s", seconds));
  });
}

SimWorld::Fate SimWorld::draw_fate(SimWorker& worker, const char* verb, const std::string& name) {
  ++counts.operations;
  Fate fate;
  fate.request_s = random.between(0.0005, 0.003);
  fate.reply_s = random.between(0.0005, 0.003);
  if (worker.calls_left == 0) fate.death = Fate::Death::kBefore;
  if (worker.calls_left > 0) --worker.calls_left;
  const std::string_view what = verb;
  const auto concerns = [&](const std::string& text) {
    return !text.empty() && (name.find(text) != name.npos || what.find(text) != what.npos);
  };
  const bool reads = what == "get" || what == "list";
  if (!frozen && !reads && concerns(faults.freeze)) {
    frozen = true;
    stand_still(worker, now_s, faults.freeze_s);
  }
  if (quiet()) return fate;
  const bool favoured = concerns(faults.favoured);
  const auto befalls = [&](double share) {
    return random.chance(favoured ? std::min(0.5, share * kFavoured) : share);
  };
  if (befalls(faults.slow)) {
    ++counts.slow;
    (random.chance(0.5) ? fate.request_s : fate.reply_s) = random.between(0, faults.slow_s);
  }
  if (befalls(faults.again)) {
    ++counts.again;
    fate.again_s = random.between(0.01, 2);
  }
  const bool may_depart = counts.kills + counts.leaves + counts.failures < faults.most_departures;
  if (may_depart && befalls(faults.leave) && !worker.told_to_stop) {
    ++counts.leaves;
    worker.told_to_stop = true;
    if (traces) note(worker.options.id, "is told to stop");
  }
  if (befalls(faults.stop)) {
    // Half of the stops are before the operation takes effect, half of them after it.
    const double at_s = now_s + (random.chance(0.5) ? 0 : fate.request_s);
    stand_still(worker, at_s, random.between(0, faults.stop_s));
  }
  if (may_depart && befalls(faults.fail)) {
    ++counts.failures;
    worker.store_failed = true;
    last_failure_s = now_s;
    (random.chance(0.5) ? fate.fails_before : fate.fails_after) = true;
  }
  if (may_depart && befalls(faults.kill)) {
    fate.death = static_cast<Fate::Death>(random.among(1, 3));
    if (fate.death == Fate::Death::kInFlight) fate.reply_s = random.between(0, 2);
  }
  if (may_depart && befalls(faults.kill_all)) {
    at(now_s, [this] {
      for (std::size_t w = 0; w < workers.size(); ++w) kill(*workers[w]);
    });
  }
  return fate;
}

}  // namespace meanwhile::runtime
