// Progress of a run. The library never prints: the program shows these on its terminal, Python may
// pass them on.
#pragma once

#include <atomic>
#include <string>

#include "meanwhile/job/train.h"

namespace meanwhile::job {

// Calls come one at a time, on the thread that called job::run. Only the observer of the first
// worker is told of steps, rounds and notes; every process asks its own for the flag to stop.
class Observer {
 public:
  virtual ~Observer() = default;
  // A step before the first round, such as "reading".
  virtual void step(const std::string& /*what*/) {}
  // The data is here, as the learner will see it.
  virtual void loaded(const data::Part& /*part*/) {}
  virtual void round(const RoundEvent& /*event*/) {}
  // A remark for the user: a sentence without its full stop.
  virtual void note(const std::string& /*text*/) {}
  // The rows are read and made ready, by one worker. Once the flag that is returned becomes true,
  // the run ends with Error(kInterrupted); null: there is none. The flag must outlive the run.
  virtual const std::atomic<bool>* begin_reading() { return nullptr; }
  // The rounds begin. As begin_reading(), but the run can be resumed where it keeps a directory.
  virtual const std::atomic<bool>* begin_rounds() { return nullptr; }
};

// For processes that are not the first worker: they stop when told, and have nothing to tell.
class OnlyStops final : public Observer {
 public:
  explicit OnlyStops(Observer& observer) : observer_(observer) {}
  const std::atomic<bool>* begin_rounds() override { return observer_.begin_rounds(); }

 private:
  Observer& observer_;
};

}  // namespace meanwhile::job
