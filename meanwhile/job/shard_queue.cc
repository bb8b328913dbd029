#include "meanwhile/job/shard_queue.h"

#include "meanwhile/base/error.h"

namespace meanwhile::job {

using base::MutexLock;

ShardQueue::ShardQueue(const Options& options)
    : options_(options), own_(options.own), begun_{options.first, options.first} {}

// My own shards that have not begun.
int ShardQueue::waiting() const { return begun_.begin - own_.begin + own_.end - begun_.end; }

exchange::Range ShardQueue::range() const {
  return {own_.begin - taken_before_, own_.end + taken_after_};
}

std::optional<int> ShardQueue::take() {
  MutexLock lock(mutex_);
  ++idle_;
  changed_.notify_all();
  while (!stopped_ && added_.empty() && waiting() == 0 && !ended_) changed_.wait(mutex_);
  --idle_;
  if (stopped_ || (added_.empty() && waiting() == 0)) return std::nullopt;
  changed_.notify_all();
  if (!added_.empty()) {
    const int shard = added_.back();
    added_.pop_back();
    return shard;
  }
  const int before = begun_.begin - own_.begin, after = own_.end - begun_.end;
  return before > after ? --begun_.begin : begun_.end++;
}

void ShardQueue::finished(double seconds) {
  MutexLock lock(mutex_);
  ++finished_;
  seconds_ += seconds;
}

bool ShardQueue::wait_until_all_began(std::chrono::microseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  MutexLock lock(mutex_);
  while (!stopped_ && waiting() > 0 && std::chrono::steady_clock::now() < until) {
    changed_.wait_until(mutex_, until);
  }
  return stopped_ || waiting() == 0;
}

bool ShardQueue::wait_for_idle() {
  MutexLock lock(mutex_);
  while (!stopped_ && (idle_ == 0 || !added_.empty())) changed_.wait(mutex_);
  return !stopped_;
}

// The shard would begin here after the others that wait, and end one shard later. Before one is
// finished, a shard takes as long here as there.
std::optional<int> ShardQueue::give(Side to, double their_seconds) {
  MutexLock lock(mutex_);
  const int before = begun_.begin - own_.begin, after = own_.end - begun_.end;
  const bool reaches = to == Side::kBefore ? before > 0 && own_.begin < options_.middle
                                           : after > 0 && own_.end > options_.middle;
  if (!reaches || stopped_) return std::nullopt;
  const double own_seconds = finished_ > 0 ? seconds_ / finished_ : their_seconds;
  const double turns = 1 + static_cast<double>(before + after - 1) / options_.threads;
  if (their_seconds > turns * own_seconds) return std::nullopt;
  changed_.notify_all();
  return to == Side::kBefore ? own_.begin++ : --own_.end;
}

void ShardQueue::add(int shard) {
  MutexLock lock(mutex_);
  if (shard == range().begin - 1) {
    ++taken_before_;
  } else if (shard == range().end) {
    ++taken_after_;
  } else {
    throw base::Error(base::ErrorKind::kFailed, "shard {} came, which is not next to {} .. {}",
                      shard, range().begin, range().end);
  }
  added_.push_back(shard);
  changed_.notify_all();
}

void ShardQueue::end() {
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void ShardQueue::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

double ShardQueue::seconds_a_shard() const {
  MutexLock lock(mutex_);
  return finished_ > 0 ? seconds_ / finished_ : 0;
}

exchange::Range ShardQueue::made() const {
  MutexLock lock(mutex_);
  return range();
}

}  // namespace meanwhile::job
