// Workers at a store: shards are worked on and their updates put, adders read those of their groups
// as they see them and put sums, the root reads the sums and puts the total, which all read. Every
// worker has its own clock; one that was late, or dead, goes on with the step the job is at.
//
// predict() has one leg after the other: readers do not begin before all there is to read is due.
// Here the same holds, so that without trouble both agree; what comes later than it is due is read
// when it comes.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "meanwhile/plan/simulate/at_store.h"
#include "meanwhile/runtime/storage/record.h"

namespace meanwhile::plan {

namespace {

// Numbers of blobs, for FaultDraws: the total is 0, then updates, then sums.
constexpr int kSums = 1 << 30;

}  // namespace

AtStore::AtStore(const SimInput& input)
    : input_(input),
      draws_(input.draws),
      slow_machine_(input.machine),
      cost_(storage_step(input.machine, input.setting, input.workers)),
      held_(assignment_of(input, cost_)),
      workers_(static_cast<Index>(held_.machines)) {
  Storage& slow = *slow_machine_.storage;
  for (double* rate : {&slow.read, &slow.write, &slow.spread}) {
    *rate /= draws_.faults().link_slowdown;
  }
  for (Index i = 0; i < workers_.size(); ++i) {
    workers_[i].slow_link = draws_.slow_link(static_cast<int>(i));
  }
  notice_parts_s_ = notice(held_.two_levels() ? "gather" : "root");
  notice_sums_s_ = notice("root");
  notice_total_s_ = notice("spread");
}

double AtStore::notice(std::string_view leg) const {
  for (const runtime::Leg& one : cost_.legs) {
    if (one.name == leg && one.waits) return input_.machine.storage->notice;
  }
  return 0;
}

void AtStore::settle_stretch() {
  const int stretch = input_.stretch_of[static_cast<Index>(step_)];
  if (stretch == stretch_) return;
  stretch_ = stretch;
  const learn::Cost& cost = input_.cost(step_);
  const auto work = [&](double share) {
    return work_seconds(input_.machine, cost, input_.job.shape, input_.setting, input_.workers,
                        share);
  };
  const int S = input_.shards(), P = input_.workers;
  const double one = work(1.0 / S);
  unit_work_s_.assign(held_.owner_of.size(), one);
  for (int unit = 0; separate() && unit < P; ++unit) {
    unit_work_s_[static_cast<Index>(unit)] = one * (S / P + (unit < S % P ? 1 : 0));
  }
  fast_ = step_seconds(*input_.machine.storage, cost_, held_, cost.update_bytes);
  slow_ = step_seconds(*slow_machine_.storage, cost_, held_, cost.update_bytes);
  absorb_s_ =
      absorb_seconds(input_.machine, cost, input_.job.shape, input_.setting, input_.workers);
  due_parts_s_ =
      work(largest_share(input_.setting, P)) + held_.most_units * fast_.put + notice_parts_s_;
  due_sums_s_ = due_parts_s_ + held_.most_read * fast_.gather + fast_.sum + notice_sums_s_;
}

// Seconds of loading for a worker, when all load.
double AtStore::load(int who) const {
  const Machine& machine =
      workers_[static_cast<Index>(who)].slow_link ? slow_machine_ : input_.machine;
  return input_.machine.start + load_seconds(machine, input_.job, input_.setting, input_.workers);
}

// ready_s of all workers is settled.
void AtStore::begin_step() {
  settle_stretch();
  done_.assign(held_.owner_of.size(), 0);
  missing_ = static_cast<int>(done_.size());
  late_of_ = -1;
  adding_.assign(held_.adders.size(), {});
  worked_s_ = put_s_ = put_alive_s_ = sum_s_ = sum_alive_s_ = 0;
  deaths_in_step_ = 0;
  for (int w = 0; w < input_.workers; ++w) {
    worker(w).own_work_s = 0;
    worker(w).next = held_.units_of[static_cast<Index>(w)].first;
    if (worker(w).up) agenda_.add(worker(w).ready_s, {.kind = Kind::kReady, .who = w});
  }
  for (Worker& each : workers_) {
    if (!each.up) each.down_in = step_;
  }
  look_s_ = base_s_ + (usual_s_ < 0 ? runtime::JobRecord{}.lease_s
                                    : std::max(kSlowAtLeastSeconds, kSlow * usual_s_));
  agenda_.add(look_s_, {.kind = Kind::kLook, .who = -1, .step = step_});
}

// The next unit to be done that a worker has, of its own or for another; -1: none.
int AtStore::unit_for(int who) {
  const auto missing = [&](int owner) {
    int& unit = worker(owner).next;
    const int last = held_.units_of[static_cast<Index>(owner)].last;
    while (unit < last && done_[static_cast<Index>(unit)] != 0) ++unit;
    return unit < last ? unit : -1;
  };
  int unit = missing(who);
  for (const int other : worker(who).stands_in) {
    if (unit < 0) unit = missing(other);
  }
  return unit;
}

// The next piece of work of a worker that has none.
void AtStore::go_on(int who) {
  Worker& it = worker(who);
  if (!it.up || it.busy || agenda_.now() < it.ready_s) return;
  if (const int unit = unit_for(who); unit >= 0) return work(who, unit, agenda_.now(), true);
  if (!loose_.empty()) return take(who);
  if (agenda_.now() >= late_s(it)) return help(who);
  if (late_s(it) > look_s_) {
    agenda_.add(late_s(it), {.kind = Kind::kLook, .who = who, .step = step_});
  }
}

void AtStore::work(int who, int unit, double begin_s, bool own) {
  Worker& it = worker(who);
  it.busy = true;
  it.step = step_;
  const double worked = unit_work_s_[static_cast<Index>(unit)] * draws_.factor(who, step_, unit);
  agenda_.add(begin_s + worked + pieces(who).put,
              {Kind::kPut, who, it.life, step_, unit, own, worked});
}

void AtStore::put(const Event& event) {
  Worker& it = worker(event.who);
  if (event.life != it.life) return;
  it.busy = false;
  if (event.step == step_ && event.own) it.own_work_s += event.worked + pieces(event.who).put;
  if (event.step != step_) return_to(event.who);
  const auto unit = static_cast<Index>(event.unit);
  if (event.step == step_ && done_[unit] == 0) {
    const double now = agenda_.now();
    done_[unit] = 1;
    --missing_;
    worked_s_ += event.worked;
    put_s_ = std::max(put_s_, now);
    if (worker(held_.owner_of[unit]).down_in != step_) put_alive_s_ = std::max(put_alive_s_, now);
    const int to = held_.adder_of[unit], reader = who_adds(to);
    const bool own = reader == event.who;
    const double seen_s =
        own ? now : now + notice_parts_s_ + draws_.lateness(reader, step_, 1 + event.unit);
    agenda_.add(std::max(seen_s, base_s_ + due_parts_s_),
                {.kind = Kind::kPart, .who = to, .step = step_, .own = own});
  }
  go_on(event.who);
}

void AtStore::part(const Event& event) {
  if (event.step != step_) return;
  Adding& adding = adding_[static_cast<Index>(event.who)];
  ++adding.seen;
  if (!event.own) {
    const StepSeconds& its = pieces(who_adds(event.who));
    const double read_s = event.who == root() ? its.root : its.gather;
    adding.read_until_s = std::max(agenda_.now(), adding.read_until_s) + read_s;
  }
  add_if_complete(event.who);
}

void AtStore::add_if_complete(int adder) {
  const Adding& adding = adding_[static_cast<Index>(adder)];
  const int who = who_adds(adder);
  const bool complete = adding.seen == held_.adders[static_cast<Index>(adder)].parts;
  if (!complete || adding.done || !worker(who).up) return;
  const double written_s = adder == root() ? pieces(who).total : pieces(who).sum;
  agenda_.add(std::max(agenda_.now(), adding.read_until_s) + written_s,
              {.kind = Kind::kSum, .who = adder, .life = worker(who).life, .step = step_});
}

void AtStore::sum(const Event& event) {
  const int who = who_adds(event.who);
  if (event.step != step_ || event.life != worker(who).life) return;
  adding_[static_cast<Index>(event.who)].done = true;
  if (event.who == root()) return end_step();
  const double now = agenda_.now();
  sum_s_ = std::max(sum_s_, now);
  if (worker(who).down_in != step_) sum_alive_s_ = std::max(sum_alive_s_, now);
  const int reader = who_adds(root());
  const bool own = who == reader;
  const double seen_s =
      own ? now : now + notice_sums_s_ + draws_.lateness(reader, step_, kSums + event.who);
  agenda_.add(std::max(seen_s, base_s_ + due_sums_s_),
              {.kind = Kind::kPart, .who = root(), .step = step_, .own = own});
}

// The total is there.
void AtStore::end_step() {
  const double now = agenda_.now();
  trace_.steps.push_back(passed());
  usual_s_ = trace_.steps.back().seconds;
  base_s_ += usual_s_;
  for (int w = 0; w < input_.workers; ++w) {
    const double seen_s =
        now + notice_total_s_ + pieces(w).spread + draws_.lateness(w, step_, 0) + absorb_s_;
    worker(w).ready_s = std::max(worker(w).ready_s, seen_s);
  }
  for (int w = 0; w < input_.workers; ++w) {
    // A worker at a step that is over sees it at its second beat, and gives back what it holds.
    const Worker& it = worker(w);
    if (!it.busy || it.step != step_) continue;
    agenda_.add(now + 2 * kBeatSeconds,
                {.kind = Kind::kLoose, .who = w, .life = it.life, .step = it.step});
  }
  if (++step_ < input_.steps()) begin_step();
}

// Where the time of this step went. The delay of a worker that had died counts as recovery.
StepTimes AtStore::passed() const {
  const double now = agenda_.now();
  StepTimes passed;
  passed.seconds = now + notice_total_s_ + fast_.spread + absorb_s_ - base_s_;
  passed.absorb = absorb_s_;
  const auto held_up = [](double end, double alive, double expected) {
    return std::max(0.0, end - std::max(alive, expected));
  };
  const StepSeconds& longest = draws_.faults().slow_links > 0 ? slow_ : fast_;
  const double late = held_up(put_s_, put_alive_s_, base_s_ + due_parts_s_ - notice_parts_s_);
  double there_s = std::max(put_s_ + notice_parts_s_, base_s_ + due_parts_s_);
  passed.recovery = late;
  if (held_.two_levels()) {
    const double expected_s = there_s + held_.most_read * longest.gather + longest.sum;
    passed.recovery += held_up(sum_s_, sum_alive_s_, expected_s);
    there_s = std::max(sum_s_ + notice_sums_s_, base_s_ + due_sums_s_);
  }
  if (workers_[static_cast<Index>(who_adds(root()))].down_in == step_) {
    const double expected_s = there_s + held_.root_read * longest.root + longest.total;
    passed.recovery += std::max(0.0, now - expected_s);
  }
  // Work that was late because of a death is recovery already.
  const double until_put = std::max(0.0, put_s_ - base_s_ - held_.most_units * fast_.put - late);
  passed.work = std::min(until_put, worked_s_ / held_.busy);
  passed.waiting = until_put - passed.work;
  passed.exchange = passed.seconds - passed.absorb - passed.work - passed.waiting - passed.recovery;
  return passed;
}

SimTrace AtStore::run() {
  trace_.load = base_s_ = input_.machine.start +
                          load_seconds(input_.machine, input_.job, input_.setting, input_.workers);
  for (int who = 0; who < static_cast<int>(workers_.size()); ++who) {
    worker(who).ready_s = load(who);
    if (draws_.faults().deaths > 0) {
      agenda_.add(draws_.life(who, 0), {.kind = Kind::kDie, .who = who});
    }
  }
  if (input_.steps() > 0) begin_step();
  while (step_ < input_.steps()) {
    const Event event = agenda_.next();
    switch (event.kind) {
      case Kind::kReady:
        go_on(event.who);
        break;
      case Kind::kPut:
        put(event);
        break;
      case Kind::kPart:
        part(event);
        break;
      case Kind::kSum:
        sum(event);
        break;
      case Kind::kLook:
        if (event.step == step_) event.who < 0 ? look() : go_on(event.who);
        break;
      case Kind::kLoose:
        loosen(event);
        break;
      case Kind::kDie:
        die(event.who);
        break;
      case Kind::kRise:
        rise(event.who);
        break;
    }
  }
  return trace_;
}

SimTrace live_at_store(const SimInput& input) { return AtStore(input).run(); }

}  // namespace meanwhile::plan
