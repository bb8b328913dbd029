// Which round comes next: a pure function of what the rounds before have found. No messages here.
//
// A run is one attempt or, with schedule auto, up to four, each of which begins with messages that
// say nothing:
//
//   sweep             always
//   residual          if the first one failed; also if it did not, where the graph has loops and at
//                     most kSecondOpinion messages
//   sweep, damped     if all before failed
//   residual, damped  likewise
//
// Loopy graphs have several fixed points, and schedules reach different ones. Of those that were
// reached, the one with the largest Bethe log Z is the result: the lowest minimum of Bethe's free
// energy that is known. An attempt fails when it stalls or is out of sweeps.
//
// Apparent convergence is checked: a round makes every message anew from the same beliefs, without
// damping, and the attempt has converged only if none would change by more than the tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "meanwhile/learn/belief/parameters.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::belief {

// The work of a round.
enum class Step {
  kFacts,   // facts of the graph
  kFields,  // factors of one variable
  kFlood,   // all messages
  kSweep,   // messages into variables at one place of the order
  kResidual,
  kCheck,  // every message made anew, none sent
  kScore,  // log Z, or the weight of the decoded state
  kDone,
};

struct Attempt {
  Schedule schedule = Schedule::kFlood;  // not kAuto
  double damping = 0;
};

// How an attempt ended.
struct AttemptResult {
  std::int64_t number = 0;  // of the attempt; one that went on after its end has several results
  Attempt attempt;
  bool converged = false;
  double residual = 0, sweeps = 0;
  double log_z = 0;  // -inf: the decoded state has no weight
};

// Bins of residuals: the upper bits of a float32.
inline constexpr std::int64_t kResidualBins = 2048;
std::int64_t residual_bin(double residual);
// The least residual in a bin.
double bin_floor(std::int64_t bin);

// Messages of a graph for which a second attempt is made although the first one converged.
inline constexpr std::int64_t kSecondOpinion = 1 << 20;

// Findings of a round.
struct Found {
  double residual = 0;    // the largest change of a message, before damping
  std::int64_t sent = 0;  // messages
};

class Course {
 public:
  explicit Course(const Parameters& parameters);

  Step step() const { return step_; }
  Attempt attempt() const { return attempts_[static_cast<std::size_t>(number_)]; }
  // The first round of an attempt: what messages the memory has do not count.
  bool is_fresh() const { return fresh_; }
  std::int64_t order() const { return order_; }  // of kSweep
  double threshold() const { return threshold_; }
  double residual() const { return residual_; }  // as it was last known
  // Sweeps of the present attempt.
  double sweeps() const;
  std::int64_t messages() const { return messages_; }
  std::int64_t orders() const { return orders_; }
  // An upper bound.
  std::int64_t rounds_left() const;

  // Attempts that have ended, and the one among them that is the result so far.
  const std::vector<AttemptResult>& results() const { return results_; }
  const AttemptResult& best() const { return results_[static_cast<std::size_t>(best_)]; }

  // After kFacts, which tell how many messages there are and how many places the order has.
  void begin(std::int64_t messages, std::int64_t orders);
  void after_fields();
  void after_messages(const Found& found);
  // After a round of kResidual: the histogram of residuals, before messages were sent.
  void choose_threshold(const std::vector<std::int64_t>& histogram);
  void after_check(double residual);
  // Whether this attempt is the best so far. The next step is kDone or begins another attempt.
  bool after_score(double log_z);

  Json to_json() const;
  // THROWS Error(kInput) when the JSON is not that of a course with these parameters.
  void restore(const Json& json);

 private:
  Step first_step() const;
  bool out_of_sweeps() const;
  bool stalled() const;
  bool wants_another() const;
  void begin_attempt(std::int64_t number);
  void next_place();

  Parameters parameters_;
  std::vector<Attempt> attempts_;
  Step step_ = Step::kFacts;
  std::int64_t messages_ = 0, orders_ = 0;
  std::int64_t number_ = 0;  // of the attempt
  std::vector<AttemptResult> results_;
  std::int64_t best_ = 0;

  bool fresh_ = true, converged_ = false;
  std::int64_t sent_ = 0;
  // For kSweep: the order is gone through backwards, then forwards, and so on.
  std::int64_t order_ = 0;
  bool backwards_ = true;
  double pass_residual_ = 0;  // the largest since the last turn
  std::int64_t turns_ = 0;
  double threshold_ = 0;
  double residual_ = 0;
  double lowest_ = 0;               // residual
  std::int64_t lowest_sent_ = 0;    // sent_ then
  std::int64_t checked_sent_ = -1;  // sent_ at the last check
};

}  // namespace meanwhile::learn::belief
