#include "meanwhile/cli/output/progress.h"

#include <fmt/format.h>

#include <cmath>

namespace meanwhile::cli {

namespace {

constexpr double kLongestSeconds = 1e12;  // what a record of a store says may be anything
constexpr double kTerminalSeconds = 0.1, kPlainSeconds = 1.0;  // between two lines, at least

}  // namespace

std::string duration(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  if (!(seconds < kLongestSeconds)) return "years";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

void Progress::step(const std::string& what) {
  if (console_.terminal()) show(what + " ...");
}

void Progress::round(const job::RoundEvent& event) {
  const bool seeding = event.outcome.phase == learn::Phase::kPrepare;
  if (seeding) {
    ++seed_steps_;
  } else {
    seed_steps_ = 0;
    round_s_ = round_s_ == 0 ? event.seconds : 0.8 * round_s_ + 0.2 * event.seconds;
  }
  const double now = base::now_s();
  if (now - shown_s_ < (console_.terminal() ? kTerminalSeconds : kPlainSeconds)) return;
  if (seeding) {
    show(fmt::format("preparing, step {}, {}", seed_steps_, duration(event.elapsed_s)));
    return;
  }
  std::string line = fmt::format("round {}, objective {:.8g}, {}", event.round,
                                 event.outcome.objective, duration(event.elapsed_s));
  if (event.rounds_left > 0) {
    line += fmt::format(", at most {} left",
                        duration(static_cast<double>(event.rounds_left) * round_s_));
  }
  show(line);
}

void Progress::clear() {
  if (on_line_) console_.draw("\r\033[K");
  on_line_ = false;
}

void Progress::show(const std::string& line) {
  shown_s_ = base::now_s();
  if (!console_.terminal()) {
    console_.say(line + "\n");
    return;
  }
  clear();
  console_.say(line.substr(0, static_cast<std::size_t>(console_.width() - 1)));
  on_line_ = true;
}

}  // namespace meanwhile::cli
