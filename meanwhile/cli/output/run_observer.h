// A run as the user sees it: progress, remarks, and Ctrl-C.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/job/observer.h"

namespace meanwhile::cli {

class RunObserver final : public job::Observer {
 public:
  // `files`: those that are read. A pipe keeps a reader waiting, and only a signal that kills ends
  // that: Ctrl-C is caught while files are read, and with a pipe among them not before the rounds.
  RunObserver(Console& console, const std::vector<std::string>& files);

  void step(const std::string& what) override { progress_.step(what); }
  void round(const job::RoundEvent& event) override { progress_.round(event); }
  void note(const std::string& text) override;
  const std::atomic<bool>* begin_reading() override;
  const std::atomic<bool>* begin_rounds() override;
  // Leaves the terminal's line empty.
  void clear() { progress_.clear(); }

 private:
  Console& console_;
  bool reads_pipe_ = false;
  Progress progress_;
};

}  // namespace meanwhile::cli
