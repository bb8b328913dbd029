#include "test/storage/faulty.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "meanwhile/base/random.h"

namespace meanwhile::storage {
namespace {

enum class Fault : std::uint32_t { kLate, kLateAsks, kCut, kForgotten, kTwice, kUndead, kSlow };

// 56 bits, as base::Random takes.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash >> 8;
}

// Thread safety: any thread.
class Dice {
 public:
  Dice(const Faults& faults, FaultCounts& injected) : faults_(faults), injected_(injected) {}

  bool befalls(double share, Fault fault, const std::string& what, std::atomic<int>& count) {
    if (share <= 0 || uniform(fault, what) >= share) return false;
    ++count;
    return true;
  }

  double uniform(Fault fault, const std::string& what) {
    std::uint32_t nth = 0;
    {
      const std::lock_guard lock(mutex_);
      nth = asked_[{fault, what}]++;
    }
    return base::Random(faults_.seed, base::Purpose::kUser, static_cast<std::uint32_t>(fault), nth)
        .uniform(hash_of(what));
  }

  void pause(const std::string& what) {
    if (!befalls(faults_.slow, Fault::kSlow, what, injected_.slow)) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(faults_.slow_s));
  }

 private:
  const Faults faults_;
  FaultCounts& injected_;
  std::mutex mutex_;  // guards asked_
  std::map<std::pair<Fault, std::string>, std::uint32_t> asked_;
};

// The version of each blob that is shown: one for gets, one for lists. T has an etag.
template <class T>
class View {
 public:
  // The version to show of a blob that is `now` so. `asks` says how often a new one is withheld.
  template <class Asks>
  std::optional<T> shown(const std::string& name, const T& now, Asks&& asks) {
    State& state = states_[name];
    if (state.shown && state.shown->etag == now.etag) return now;
    if (state.next != now.etag) {
      state.next = now.etag;
      state.asks = std::exchange(state.own, false) ? 0 : asks();
    }
    if (state.asks-- > 0) return state.shown;
    state.shown = now;
    return now;
  }

  void wrote(const std::string& name) { states_[name].own = true; }
  void gone(const std::string& name) { states_.erase(name); }

 private:
  struct State {
    std::optional<T> shown;
    std::string next;  // etag of what is withheld
    int asks = 0;
    bool own = false;
  };
  std::map<std::string, State> states_;
};

class FaultyBlobs final : public BlobStore {
 public:
  FaultyBlobs(std::unique_ptr<BlobStore> blobs, const Faults& faults, FaultCounts& injected)
      : blobs_(std::move(blobs)), faults_(faults), injected_(injected), dice_(faults, injected) {}

  std::string name() const override { return blobs_->name(); }

  std::optional<Blob> get(const std::string& name) override {
    dice_.pause(name);
    std::optional<Blob> blob = blobs_->get(name);
    {
      const std::lock_guard lock(mutex_);
      if (blob) {
        blob = gets_.shown(name, *blob, [&] { return asks(name); });
      } else {
        gets_.gone(name);
      }
    }
    if (blob && !blob->bytes.empty() &&
        dice_.befalls(faults_.cut, Fault::kCut, name, injected_.cut)) {
      blob->bytes.resize(static_cast<std::size_t>(dice_.uniform(Fault::kCut, name) *
                                                  static_cast<double>(blob->bytes.size())));
    }
    return blob;
  }

  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    dice_.pause(name);
    std::string etag = blobs_->put(name, bytes);
    wrote(name);
    return etag;
  }

  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    dice_.pause(name);
    if (!blobs_->put_if_absent(name, bytes)) return false;
    wrote(name);
    return !dice_.befalls(faults_.forgotten, Fault::kForgotten, name, injected_.forgotten);
  }

  bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    dice_.pause(name);
    if (!blobs_->put_if_match(name, bytes, etag)) return false;
    wrote(name);
    return true;
  }

  std::vector<BlobInfo> list(const std::string& prefix) override {
    dice_.pause(prefix);
    std::vector<BlobInfo> listed;
    const std::vector<BlobInfo> all = blobs_->list(prefix);
    const std::lock_guard lock(mutex_);
    for (const BlobInfo& info : all) {
      std::optional<BlobInfo> shown =
          lists_.shown(info.name, info, [&] { return asks(info.name); });
      if (shown) listed.push_back(std::move(*shown));
    }
    return listed;
  }

  void remove(std::span<const std::string> names) override {
    if (!names.empty()) dice_.pause(names[0]);
    blobs_->remove(names);
    const std::lock_guard lock(mutex_);
    for (const std::string& name : names) {
      gets_.gone(name);
      lists_.gone(name);
    }
  }

 private:
  int asks(const std::string& name) {
    if (!dice_.befalls(faults_.late, Fault::kLate, name, injected_.late)) return 0;
    return 1 + static_cast<int>(dice_.uniform(Fault::kLateAsks, name) * faults_.late_asks);
  }

  void wrote(const std::string& name) {
    const std::lock_guard lock(mutex_);
    gets_.wrote(name);
    lists_.wrote(name);
  }

  const std::unique_ptr<BlobStore> blobs_;
  const Faults faults_;
  FaultCounts& injected_;
  Dice dice_;
  std::mutex mutex_;  // guards what follows
  View<Blob> gets_;
  View<BlobInfo> lists_;
};

class FaultyQueue final : public Queue {
 public:
  FaultyQueue(std::unique_ptr<Queue> queue, const Faults& faults, FaultCounts& injected)
      : queue_(std::move(queue)), faults_(faults), injected_(injected), dice_(faults, injected) {}

  std::string name() const override { return queue_->name(); }
  void create() override { queue_->create(); }
  void destroy() override { queue_->destroy(); }
  int size() override { return queue_->size(); }

  void push(const std::string& body) override {
    dice_.pause(body);
    queue_->push(body);
    if (dice_.befalls(faults_.twice, Fault::kTwice, body, injected_.twice)) queue_->push(body);
  }

  std::vector<Message> lease(int most, double seconds) override {
    dice_.pause("lease");
    return queue_->lease(most, seconds);
  }

  bool renew(Message& message, double seconds) override {
    dice_.pause(message.body);
    return queue_->renew(message, seconds);
  }

  bool remove(const Message& message) override {
    dice_.pause(message.body);
    if (!dice_.befalls(faults_.undead, Fault::kUndead, message.body, injected_.undead)) {
      return queue_->remove(message);
    }
    Message back = message;
    return queue_->renew(back, 0);
  }

 private:
  const std::unique_ptr<Queue> queue_;
  const Faults faults_;
  FaultCounts& injected_;
  Dice dice_;
};

}  // namespace

Store make_faulty(Store store, const Faults& faults, FaultCounts& injected) {
  return {std::make_unique<FaultyBlobs>(std::move(store.blobs), faults, injected),
          std::make_unique<FaultyQueue>(std::move(store.queue), faults, injected)};
}

}  // namespace meanwhile::storage
