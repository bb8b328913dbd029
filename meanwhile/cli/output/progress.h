// How far a training is, while it runs: one line that is rewritten on a terminal, now and then a
// line of its own elsewhere.
#pragma once

#include <string>

#include "meanwhile/base/clock.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/job/train.h"

namespace meanwhile::cli {

class Progress {
 public:
  explicit Progress(Console& console) : console_(console), shown_s_(base::now_s()) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows what the program does before the first round, such as "reading points.csv".
  void step(const std::string& what);
  void round(const job::RoundEvent& event);
  // Leaves the terminal's line empty.
  void clear();

 private:
  void show(const std::string& line);

  Console& console_;
  double shown_s_;      // when the last line was shown
  double round_s_ = 0;  // a round takes about so long: a decaying mean
  std::int64_t seed_steps_ = 0;
  bool on_line_ = false;  // the terminal's line holds text
};

// "850 ms", "3.2 s", "4 min 10 s", "2 h 5 min".
std::string duration(double seconds);

}  // namespace meanwhile::cli
