// The response of workers at a store to faults: a waiting worker makes late updates, a stuck one
// gives back what it holds, a dead one comes back after a while.
#include <algorithm>

#include "meanwhile/plan/simulate/at_store.h"

namespace meanwhile::plan {

namespace {

constexpr int kRequestsOfHelp = 3;  // who is late, its rows, its update

}  // namespace

// When a worker that waits thinks that others are late.
double AtStore::late_s(const Worker& it) const {
  return std::max(look_s_, it.ready_s + kSlow * it.own_work_s);
}

void AtStore::look() {
  std::vector<int> idle;
  for (int w = 0; w < input_.workers; ++w) {
    const Worker& it = worker(w);
    if (it.up && !it.busy && agenda_.now() >= std::max(it.ready_s, late_s(it))) idle.push_back(w);
  }
  helpers_ = std::max(1, static_cast<int>(idle.size()));
  for (const int who : idle) help(who);
}

// The time to read the rows of a unit. load_seconds() of one worker alone may mean its disk.
double AtStore::rows_s(const Worker& it, int readers) const {
  const int at_once = std::max(2, readers);
  return load_seconds(it.slow_link ? slow_machine_ : input_.machine, input_.job, input_.setting,
                      at_once) /
         (largest_share(input_.setting, at_once) * static_cast<double>(done_.size()));
}

// Each waiting worker makes one of the late updates, by its own choice: it knows of no other.
void AtStore::help(int who) {
  if (missing_ == 0) return;
  if (late_of_ != missing_) {
    late_.clear();
    for (Index unit = 0; unit < done_.size(); ++unit) {
      if (done_[unit] == 0) late_.push_back(static_cast<int>(unit));
    }
    late_of_ = missing_;
  }
  Worker& it = worker(who);
  const int unit = late_[static_cast<Index>(draws_.pick(who, missing_))];
  const double begin_s = std::max(agenda_.now(), it.looked_s + kSlowAtLeastSeconds);
  it.looked_s = begin_s;
  ++trace_.speculated;
  trace_.requests += kRequestsOfHelp;
  work(who, unit, begin_s + rows_s(it, helpers_), false);
}

// Has all that a stuck worker gave back, until that one is back.
void AtStore::take(int who) {
  Worker& it = worker(who);
  const int stuck = loose_.back();
  loose_.pop_back();
  it.stands_in.push_back(stuck);
  const Assignment::Units its = held_.units_of[static_cast<Index>(stuck)];
  trace_.requests += its.last - its.first;
  it.ready_s = agenda_.now() + (its.last - its.first) * rows_s(it, 1);
  agenda_.add(it.ready_s, {.kind = Kind::kReady, .who = who});
}

// Gives back what a worker holds that is still at a step that is over.
void AtStore::loosen(const Event& event) {
  const Worker& it = worker(event.who);
  if (!it.busy || it.life != event.life || it.step != event.step) return;
  loose_.push_back(event.who);
  for (int w = 0; w < input_.workers && !loose_.empty(); ++w) go_on(w);
}

// A worker that was stuck has its units again.
void AtStore::return_to(int who) {
  std::erase(loose_, who);
  for (Worker& each : workers_) std::erase(each.stands_in, who);
}

void AtStore::die(int who) {
  Worker& it = worker(who);
  ++trace_.deaths;
  ++it.life;
  it.up = it.busy = false;
  loose_.insert(loose_.end(), it.stands_in.begin(), it.stands_in.end());
  it.stands_in.clear();
  it.down_in = step_;
  // All may die now and then; not all the time.
  if (++deaths_in_step_ > 1000 + 20 * static_cast<std::int64_t>(workers_.size())) {
    refuse_deaths(deaths_in_step_, step_);
  }
  agenda_.add(agenda_.now() + draws_.faults().restart_s, {.kind = Kind::kRise, .who = who});
}

void AtStore::rise(int who) {
  Worker& it = worker(who);
  const double now = agenda_.now();
  it.up = true;
  agenda_.add(now + draws_.life(who, it.life), {.kind = Kind::kDie, .who = who});
  if (who < input_.workers) {
    return_to(who);
    const Assignment::Units its = held_.units_of[static_cast<Index>(who)];
    // It has the store's bandwidth to itself, unlike all at the start.
    const double load_s = input_.machine.start + (its.last - its.first) * rows_s(it, 1);
    it.ready_s = std::max(it.ready_s, now + load_s);
    trace_.requests += 1 + its.last - its.first;  // a state, its rows
    agenda_.add(it.ready_s, {.kind = Kind::kReady, .who = who});
  }
  for (int adder = 0; adder <= root(); ++adder) {
    Adding& adding = adding_[static_cast<Index>(adder)];
    if (who_adds(adder) != who || adding.done) continue;
    // It reads what there is, its own from before included.
    const double read_s = adder == root() ? pieces(who).root : pieces(who).gather;
    adding.read_until_s = now + adding.seen * read_s;
    add_if_complete(adder);
  }
}

}  // namespace meanwhile::plan
