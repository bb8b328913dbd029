// A run as the user sees it: progress, remarks, and Ctrl-C.
#pragma once

#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/job/observer.h"

namespace meanwhile::cli {

class RunObserver final : public job::Observer {
 public:
  explicit RunObserver(Console& console) : console_(console), progress_(console) {}

  void step(const std::string& what) override { progress_.step(what); }
  void round(const job::RoundEvent& event) override { progress_.round(event); }
  void note(const std::string& text) override;
  const std::atomic<bool>* begin_rounds() override;
  // Leaves the terminal's line empty.
  void clear() { progress_.clear(); }

 private:
  Console& console_;
  Progress progress_;
};

}  // namespace meanwhile::cli
