#include "meanwhile/learn/belief/course.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::belief {

namespace {

// An attempt stalls when so many sweeps have not brought the lowest residual down by a tenth.
constexpr double kPatience = 100;
constexpr double kProgress = 0.9;
constexpr double kSecondDamping = 0.5;
constexpr int kBinShift = 20;  // of a float32, whose sign bit is 0: 2,048 bins

std::vector<Attempt> attempts_of(const Parameters& p) {
  if (p.schedule != Schedule::kAuto) return {{p.schedule, p.damping}};
  const double more = std::max(p.damping, kSecondDamping);
  return {{Schedule::kSweep, p.damping},
          {Schedule::kResidual, p.damping},
          {Schedule::kSweep, more},
          {Schedule::kResidual, more}};
}

// A difference of log Z below which two fixed points count as one: it is less than 1 part in 10^6.
constexpr double kSameLogZ = 1e-6;

// Converged ones first, by log Z; others by residual. The earlier one of equals.
bool is_better(const AttemptResult& a, const AttemptResult& b) {
  if (a.converged != b.converged) return a.converged;
  return a.converged ? a.log_z > b.log_z + kSameLogZ * std::max(1.0, std::abs(b.log_z))
                     : a.residual < b.residual;
}

}  // namespace

std::int64_t residual_bin(double residual) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(residual)) >> kBinShift;
}

double bin_floor(std::int64_t bin) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bin) << kBinShift));
}

Course::Course(const Parameters& parameters)
    : parameters_(parameters), attempts_(attempts_of(parameters)) {}

double Course::sweeps() const {
  return messages_ > 0 ? static_cast<double>(sent_) / static_cast<double>(messages_) : 0;
}

std::int64_t Course::rounds_left() const {
  if (step_ == Step::kDone) return 0;
  double rounds = 0, done = sweeps();
  for (auto i = static_cast<std::size_t>(number_); i < attempts_.size(); ++i, done = 0) {
    double each = 1;
    if (attempts_[i].schedule == Schedule::kSweep)
      each = std::max(1.0, static_cast<double>(orders_));
    if (attempts_[i].schedule == Schedule::kResidual) each = 1 / parameters_.top;
    rounds += std::max(0.0, static_cast<double>(parameters_.max_iter) - done) * each;
  }
  return static_cast<std::int64_t>(std::min(rounds, 1e15));
}

void Course::begin(std::int64_t messages, std::int64_t orders) {
  messages_ = messages;
  orders_ = orders;
  step_ = Step::kFields;
}

Step Course::first_step() const {
  // Without messages the fields are all there is.
  if (messages_ == 0) return Step::kCheck;
  switch (attempt().schedule) {
    case Schedule::kSweep:
      return Step::kSweep;
    case Schedule::kResidual:
      return Step::kResidual;
    default:
      return Step::kFlood;
  }
}

void Course::begin_attempt(std::int64_t number) {
  number_ = number;
  fresh_ = true;
  converged_ = false;
  sent_ = lowest_sent_ = 0;
  checked_sent_ = -1;
  lowest_ = std::numeric_limits<double>::infinity();
  order_ = orders_ - 1;
  backwards_ = true;
  pass_residual_ = 0;
  turns_ = 0;
  threshold_ = 0;
  residual_ = 0;
  step_ = first_step();
}

void Course::after_fields() { begin_attempt(0); }

bool Course::out_of_sweeps() const {
  return static_cast<double>(sent_) >=
         static_cast<double>(parameters_.max_iter) * static_cast<double>(messages_);
}

// The only attempt, or the last one, goes on as long as it may.
bool Course::stalled() const {
  return number_ + 1 < std::ssize(attempts_) &&
         static_cast<double>(sent_ - lowest_sent_) >= kPatience * static_cast<double>(messages_);
}

// The next place of a sweep; the residual of a whole pass is known at its turn.
void Course::next_place() {
  const std::int64_t end = backwards_ ? 0 : orders_ - 1;
  if (order_ != end) {
    order_ += backwards_ ? -1 : 1;
    return;
  }
  residual_ = pass_residual_;
  pass_residual_ = 0;
  ++turns_;
  if (orders_ == 1) return;
  backwards_ = !backwards_;
  order_ += backwards_ ? -1 : 1;
}

void Course::after_messages(const Found& found) {
  fresh_ = false;
  sent_ += found.sent;
  bool whole = true;  // the residual is that of all messages
  if (step_ == Step::kSweep) {
    pass_residual_ = std::max(pass_residual_, found.residual);
    const std::int64_t turns = turns_;
    next_place();
    whole = turns_ > turns && turns_ > 1;
  } else {
    residual_ = found.residual;
  }
  if (out_of_sweeps()) {
    step_ = Step::kCheck;
    return;
  }
  if (!whole) return;
  if (residual_ < kProgress * lowest_) {
    lowest_ = residual_;
    lowest_sent_ = sent_;
  }
  // There and back: a forest is done, whatever its messages were before.
  const bool forest = step_ == Step::kSweep && turns_ == 2;
  if (residual_ <= parameters_.tol || forest || stalled()) step_ = Step::kCheck;
}

void Course::choose_threshold(const std::vector<std::int64_t>& histogram) {
  const auto wanted = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(parameters_.top * static_cast<double>(messages_))));
  std::int64_t found = 0, bin = kResidualBins - 1;
  for (; bin > 1; --bin) {
    found += histogram[static_cast<std::size_t>(bin)];
    if (found >= wanted) break;
  }
  threshold_ = bin_floor(bin);
}

void Course::after_check(double residual) {
  residual_ = residual;
  converged_ = residual <= parameters_.tol;
  // A check that follows a check finds the same again.
  const bool nothing_sent = sent_ == checked_sent_;
  checked_sent_ = sent_;
  const bool over = converged_ || out_of_sweeps() || stalled() || nothing_sent || messages_ == 0;
  step_ = over ? Step::kScore : first_step();
}

bool Course::wants_another() const {
  if (number_ + 1 >= std::ssize(attempts_)) return false;
  if (!best().converged) return true;
  const bool loops = messages_ > 0 && turns_ != 2;  // a forest is done there and back
  return number_ == 0 && loops && messages_ <= kSecondOpinion;
}

bool Course::after_score(double log_z) {
  results_.push_back({number_, attempt(), converged_, residual_, sweeps(), log_z});
  const bool better = results_.size() == 1 || is_better(results_.back(), best());
  if (better) best_ = std::ssize(results_) - 1;
  if (wants_another()) {
    begin_attempt(number_ + 1);
  } else {
    step_ = Step::kDone;
  }
  return better;
}

}  // namespace meanwhile::learn::belief
