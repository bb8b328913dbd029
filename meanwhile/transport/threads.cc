// Every worker has a box with a lock. The n-th send from a worker with a tag and the n-th receive
// for it meet in the receiver's box under one key: the first of the two leaves its side there, the
// second copies the bytes and takes the side out. A worker touches a side of another worker only
// under the lock of the box, so that after withdraw() the buffers belong to their worker alone.
#include "meanwhile/transport/threads.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "meanwhile/base/mutex.h"

namespace meanwhile::transport {
namespace {

using Clock = std::chrono::steady_clock;
using Key = std::tuple<int, int, std::uint64_t>;  // from, tag, how many before

struct Side {
  Key key;
  int peer = 0, box = 0;
  bool sends = false;
  std::span<const std::byte> source;
  std::span<std::byte> target;
  std::optional<std::size_t> done;  // bytes; guarded by the mutex of the box
};

struct Box {
  base::Mutex mutex;
  base::Condition changed;
  std::map<Key, Side*> sides MW_GUARDED_BY(mutex);
};

}  // namespace

struct ThreadGroup::Shared {
  std::vector<Box> boxes;
  std::vector<std::unique_ptr<Member>> members;
  Clock::duration deadline{};
  std::atomic<bool> failed = false;
  base::Mutex mutex;
  std::optional<base::Error> cause MW_GUARDED_BY(mutex);
};

class ThreadGroup::Member : public Transport {
 public:
  Member(Shared& group, int rank) : group_(group), rank_(rank) {}

  std::string name() const override { return "threads"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_.boxes.size()); }

  Request send(int to, int tag, std::span<const std::byte> bytes) override {
    auto side = std::make_unique<Side>();
    *side = {{rank_, tag, sent_[{to, tag}]++}, to, to, true, bytes, {}, {}};
    return open(std::move(side));
  }

  Request receive(int from, int tag, std::span<std::byte> bytes) override {
    auto side = std::make_unique<Side>();
    *side = {{from, tag, received_[{from, tag}]++}, from, rank_, false, {}, bytes, {}};
    return open(std::move(side));
  }

  std::size_t wait(Request request) override {
    throw_if_failed();
    Side& side = *open_.at(request);
    const auto done = wait_for_peer(side);
    throw_if_failed();
    if (!done) {
      fail(base::ErrorKind::kFailed, silence(side));
      throw_if_failed();
    }
    open_.erase(request);
    return *done;
  }

  double deadline_s() const override {
    return std::chrono::duration<double>(group_.deadline).count();
  }

  bool done(Request request) override {
    throw_if_failed();
    const Side& side = *open_.at(request);
    base::MutexLock lock(group_.boxes[static_cast<std::size_t>(side.box)].mutex);
    return side.done.has_value();
  }

  void fail(base::ErrorKind kind, std::string_view message) noexcept override {
    {
      base::MutexLock lock(group_.mutex);
      if (group_.cause) return;
      group_.cause = base::Error(kind, "worker {}: {}", rank_, message);
      group_.failed = true;
    }
    for (Box& box : group_.boxes) {
      // Under the lock, so that no worker is between looking at `failed` and going to sleep.
      base::MutexLock lock(box.mutex);
      box.sides.clear();
      box.changed.notify_all();
    }
  }

 private:
  // The bytes of the message, or nothing after a failure or when nothing moved for the deadline.
  std::optional<std::size_t> wait_for_peer(const Side& side) {
    Box& box = group_.boxes[static_cast<std::size_t>(side.box)];
    base::MutexLock lock(box.mutex);
    const auto begin = Clock::now();
    while (!group_.failed && !side.done) {
      const auto until = std::max(begin, last_progress_.load()) + group_.deadline;
      if (Clock::now() >= until) break;
      box.changed.wait_until(box.mutex, until);
    }
    return side.done;
  }

  std::string silence(const Side& side) const {
    return fmt::format("{} {} bytes {} worker {}: silent for {} s",
                       side.sends ? "sending" : "receiving",
                       side.source.size() + side.target.size(), side.sends ? "to" : "from",
                       side.peer, std::chrono::duration<double>(group_.deadline).count());
  }

  // After a failure nothing is posted any more: the next wait throws.
  Request open(std::unique_ptr<Side> side) {
    meet(*side);
    open_.emplace(next_, std::move(side));
    return next_++;
  }

  void meet(Side& mine) {
    Box& box = group_.boxes[static_cast<std::size_t>(mine.box)];
    base::MutexLock lock(box.mutex);
    if (group_.failed) return;
    const auto found = box.sides.find(mine.key);
    if (found == box.sides.end()) {
      box.sides.emplace(mine.key, &mine);
      return;
    }
    Side& other = *found->second;
    const Side& from = mine.sends ? mine : other;
    const Side& to = mine.sends ? other : mine;
    const std::size_t bytes = from.source.size();
    assert(bytes == to.target.size() ||
           (bytes < to.target.size() && to.target.size() <= kShortMessage));
    if (bytes > 0) std::memcpy(to.target.data(), from.source.data(), bytes);
    mine.done = other.done = bytes;
    box.sides.erase(found);
    last_progress_ = Clock::now();
    group_.members[static_cast<std::size_t>(mine.peer)]->last_progress_ = Clock::now();
    box.changed.notify_all();
  }

  void withdraw() {
    for (auto& [request, side] : open_) {
      Box& box = group_.boxes[static_cast<std::size_t>(side->box)];
      base::MutexLock lock(box.mutex);
      const auto found = box.sides.find(side->key);
      if (found != box.sides.end() && found->second == side.get()) box.sides.erase(found);
    }
    open_.clear();
  }

  void throw_if_failed() {
    if (!group_.failed) return;
    withdraw();
    base::MutexLock lock(group_.mutex);
    throw *group_.cause;
  }

  Shared& group_;
  const int rank_;
  std::map<std::pair<int, int>, std::uint64_t> sent_, received_;  // by peer and tag
  std::map<Request, std::unique_ptr<Side>> open_;
  Request next_ = 0;
  std::atomic<Clock::time_point> last_progress_{Clock::time_point{}};
};

ThreadGroup::ThreadGroup(int workers, double deadline_s) : shared_(std::make_unique<Shared>()) {
  shared_->boxes = std::vector<Box>(static_cast<std::size_t>(workers));
  shared_->deadline =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(deadline_s));
  for (int rank = 0; rank < workers; ++rank) {
    shared_->members.push_back(std::make_unique<Member>(*shared_, rank));
  }
}

ThreadGroup::~ThreadGroup() = default;

int ThreadGroup::size() const { return static_cast<int>(shared_->members.size()); }

Transport& ThreadGroup::member(int rank) {
  return *shared_->members.at(static_cast<std::size_t>(rank));
}

}  // namespace meanwhile::transport
