// Threads and ranks of MPI: all work, the sum begins when the last has done so, all absorb. The
// death of one ends all, and they go on from the last checkpoint.
#include <algorithm>
#include <cmath>
#include <limits>

#include "meanwhile/plan/simulate/simulation.h"

namespace meanwhile::plan {

namespace {

constexpr std::int64_t kMostDeathsInStep = 1000;

struct Event {
  enum class Kind { kBegin, kArrive, kEnd, kDie } kind;
  int worker = 0;   // kDie
  int attempt = 0;  // of the others: what a death has overtaken does not happen
};
using Kind = Event::Kind;

class Ranks {
 public:
  explicit Ranks(const SimInput& input)
      : input_(input),
        draws_(input.draws),
        slow_machine_(input.machine),
        lives_(static_cast<std::size_t>(input.workers), 0) {
    if (slow_machine_.network) slow_machine_.network->bandwidth /= draws_.faults().link_slowdown;
    for (int worker = 0; worker < input.workers; ++worker) {
      any_slow_ |= draws_.slow_link(worker);
    }
    root_slow_ = draws_.slow_link(0);
  }

  SimTrace run();

 private:
  void begin();
  void arrive();
  void end();
  void die(int worker);
  void settle_stretch();
  double exchange(const learn::Cost& cost) const;

  const SimInput& input_;
  const FaultDraws& draws_;
  Machine slow_machine_;
  bool any_slow_ = false, root_slow_ = false;
  Agenda<Event> agenda_;
  SimTrace trace_;
  std::vector<int> lives_;  // by worker: those that ended
  int attempt_ = 0, step_ = 0;
  int saved_ = 0;        // the step a checkpoint goes on with
  double saved_s_ = 0;   // when it was written
  double passed_s_ = 0;  // when the last step that had not been done before was done
  std::int64_t deaths_in_step_ = 0;
  // The stretch of the present step.
  int stretch_ = -1;
  double most_ = 0, least_ = 0;  // seconds of work of who has most and least
  Round round_;
  double begin_s_ = 0, work_s_ = 0, arrived_s_ = 0;
  int missing_ = 0;
};

// A slow link is in the way of all in an allreduce. In a tree it is if the root has it; otherwise
// one update each way waits for it.
double Ranks::exchange(const learn::Cost& cost) const {
  const double usual =
      predict_round(input_.machine, cost, input_.job.shape, input_.setting, input_.workers)
          .exchange;
  if (input_.setting.medium != Medium::kNetwork || !any_slow_ || !input_.machine.network) {
    return usual;
  }
  const bool all = input_.setting.exchange != job::Exchange::kTree || root_slow_;
  const int among = all ? input_.workers : std::min(2, input_.workers);
  const auto seconds = [&](const Machine& machine) {
    return exchange_seconds(machine, cost, input_.job.shape, input_.setting, among);
  };
  return usual + seconds(slow_machine_) - seconds(input_.machine);
}

void Ranks::settle_stretch() {
  const int stretch = input_.stretch_of[static_cast<std::size_t>(step_)];
  if (stretch == stretch_) return;
  stretch_ = stretch;
  const learn::Cost& cost = input_.cost(step_);
  const auto seconds = [&](int shards) {
    return work_seconds(input_.machine, cost, input_.job.shape, input_.setting, input_.workers,
                        1.0 * shards / input_.shards());
  };
  least_ = seconds(input_.shards() / input_.workers);
  most_ = seconds((input_.shards() + input_.workers - 1) / input_.workers);
  round_.exchange = exchange(cost);
  round_.absorb =
      absorb_seconds(input_.machine, cost, input_.job.shape, input_.setting, input_.workers);
}

void Ranks::begin() {
  settle_stretch();
  begin_s_ = agenda_.now();
  work_s_ = 0;
  missing_ = input_.workers;
  const int with_most = input_.shards() % input_.workers;
  for (int worker = 0; worker < input_.workers; ++worker) {
    const double predicted = worker < with_most ? most_ : least_;
    const double seconds = predicted * draws_.factor(worker, step_, 0);
    work_s_ += seconds / input_.workers;
    agenda_.add(begin_s_ + seconds, {Kind::kArrive, worker, attempt_});
  }
}

void Ranks::arrive() {
  if (--missing_ > 0) return;
  arrived_s_ = agenda_.now();
  agenda_.add(arrived_s_ + round_.exchange + round_.absorb, {Kind::kEnd, 0, attempt_});
}

void Ranks::end() {
  const double now = agenda_.now();
  if (step_ == static_cast<int>(trace_.steps.size())) {
    StepTimes passed;
    passed.seconds = now - passed_s_;
    passed.work = work_s_;
    passed.waiting = std::max(0.0, arrived_s_ - begin_s_ - work_s_);
    passed.exchange = round_.exchange;
    passed.absorb = round_.absorb;
    passed.recovery = begin_s_ - passed_s_;
    trace_.steps.push_back(passed);
    passed_s_ = now;
    deaths_in_step_ = 0;
  }
  ++step_;
  if (now - saved_s_ >= job::TrainOptions{}.checkpoint_seconds) {
    saved_ = step_;
    saved_s_ = now;
  }
  if (step_ < input_.steps()) begin();
}

void Ranks::die(int worker) {
  ++trace_.deaths;
  if (++deaths_in_step_ > kMostDeathsInStep) {
    refuse_deaths(deaths_in_step_, static_cast<int>(trace_.steps.size()));
  }
  ++attempt_;
  step_ = saved_;
  const double back_s = agenda_.now() + draws_.faults().restart_s;
  saved_s_ = back_s + trace_.load;
  agenda_.add(saved_s_, {Kind::kBegin, 0, attempt_});
  const int nth = ++lives_[static_cast<std::size_t>(worker)];
  agenda_.add(back_s + draws_.life(worker, nth), {Kind::kDie, worker, 0});
}

SimTrace Ranks::run() {
  trace_.load = input_.machine.start +
                load_seconds(input_.machine, input_.job, input_.setting, input_.workers);
  passed_s_ = saved_s_ = trace_.load;
  if (input_.steps() == 0) return trace_;
  agenda_.add(trace_.load, {Kind::kBegin, 0, attempt_});
  for (int worker = 0; worker < input_.workers && draws_.faults().deaths > 0; ++worker) {
    agenda_.add(draws_.life(worker, 0), {Kind::kDie, worker, 0});
  }
  while (static_cast<int>(trace_.steps.size()) < input_.steps()) {
    const Event event = agenda_.next();
    if (event.kind == Kind::kDie) {
      die(event.worker);
    } else if (event.attempt != attempt_) {
      continue;
    } else if (event.kind == Kind::kBegin) {
      begin();
    } else if (event.kind == Kind::kArrive) {
      arrive();
    } else {
      end();
    }
  }
  return trace_;
}

}  // namespace

SimTrace live_as_ranks(const SimInput& input) { return Ranks(input).run(); }

}  // namespace meanwhile::plan
