// The simulation of workers at a store: see store.cc for a step without faults,
// help.cc for what is done about it.
#pragma once

#include <string_view>
#include <vector>

#include "meanwhile/plan/simulate/assignment.h"
#include "meanwhile/plan/simulate/simulation.h"
#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::plan {

using runtime::kBeatSeconds;
using runtime::kSlow;
using runtime::kSlowAtLeastSeconds;

class AtStore {
 public:
  explicit AtStore(const SimInput& input);
  // Once.
  SimTrace run();

 private:
  using Index = std::size_t;

  struct Event {
    enum class Kind { kReady, kPut, kPart, kSum, kLook, kLoose, kDie, kRise } kind;
    int who = 0;   // worker; kPart, kSum: adder; kLook: -1 is all
    int life = 0;  // kPut, kSum, kLoose: of the worker; what a death has overtaken does not happen
    int step = 0;  // all but kReady, kDie, kRise
    int unit = 0;  // kPut
    bool own = false;   // kPart: need not be read; kPut: no other worker is helped
    double worked = 0;  // kPut: seconds of work in it
  };
  using Kind = Event::Kind;

  struct Worker {
    bool slow_link = false;
    bool up = true, busy = false;
    int life = 0;
    int step = 0;                // it is busy with
    std::vector<int> stands_in;  // for these workers: it has their units, too
    int next = 0;                // of its units: those before are there
    double own_work_s = 0;       // in this step
    double ready_s = 0;          // when it has the model of this step
    double looked_s = -1e9;      // for late updates
    int down_in = -1;            // the last step in which it was dead
  };

  // Progress of an adder in this step.
  struct Adding {
    int seen = 0;  // parts
    double read_until_s = 0;
    bool done = false;
  };

  bool separate() const { return input_.machine.storage->separate_reducers; }
  const StepSeconds& pieces(int who) const {
    return workers_[static_cast<Index>(who)].slow_link ? slow_ : fast_;
  }
  Worker& worker(int who) { return workers_[static_cast<Index>(who)]; }
  int who_adds(int adder) const { return held_.adders[static_cast<Index>(adder)].who; }
  int root() const { return static_cast<int>(held_.adders.size()) - 1; }
  // Seconds until a worker sees that the input of the leg is there.
  double notice(std::string_view leg) const;
  void settle_stretch();
  double load(int who) const;

  void begin_step();
  int unit_for(int who);
  void go_on(int who);
  void work(int who, int unit, double begin_s, bool own);
  void put(const Event& event);
  void part(const Event& event);
  void add_if_complete(int adder);
  void sum(const Event& event);
  void end_step();
  StepTimes passed() const;

  void look();
  double late_s(const Worker& it) const;
  void help(int who);
  double rows_s(const Worker& it, int readers) const;
  void take(int who);
  void loosen(const Event& event);
  void return_to(int who);
  void die(int who);
  void rise(int who);

  const SimInput& input_;
  const FaultDraws& draws_;
  Machine slow_machine_;
  const runtime::StepCost cost_;
  const Assignment held_;
  SimTrace trace_;
  Agenda<Event> agenda_;
  std::vector<Worker> workers_;  // then machines that only add
  std::vector<Adding> adding_;   // by adder
  std::vector<int> loose_;       // stuck workers whose units anybody may take

  int stretch_ = -1;
  StepSeconds fast_, slow_;
  double absorb_s_ = 0;
  double notice_parts_s_ = 0, notice_sums_s_ = 0, notice_total_s_ = 0;
  double due_parts_s_ = 0, due_sums_s_ = 0;  // from the beginning of a step
  std::vector<double> unit_work_s_;          // by unit

  int step_ = 0;
  double base_s_ = 0;       // when this step begins for who has a fast link
  double usual_s_ = -1;     // of the step before; -1: there was none
  double look_s_ = 0;       // when updates are late
  std::vector<char> done_;  // by unit
  int missing_ = 0, helpers_ = 1;
  std::vector<int> late_;  // units that were missing at the last look
  int late_of_ = -1;       // how many were missing then; -1: not looked
  std::int64_t deaths_in_step_ = 0;
  // When all updates and sums were there, and those that no death held up.
  double worked_s_ = 0, put_s_ = 0, put_alive_s_ = 0, sum_s_ = 0, sum_alive_s_ = 0;
};

}  // namespace meanwhile::plan
