// Requests made of a store, which its owner is billed for. Many blobs that are removed together are
// one batch: their removal itself is free.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace meanwhile::storage {

enum class Request { kGet, kPut, kList, kRemove, kPush, kLease, kRenew, kDrop };
inline constexpr std::array<const char*, 8> kRequestNames = {"get",  "put",   "list",  "remove",
                                                             "push", "lease", "renew", "drop"};

struct Usage {
  std::array<std::int64_t, kRequestNames.size()> requests = {};  // by kind, those tried again too
  std::int64_t bytes_sent = 0, bytes_received = 0;               // contents only
  std::int64_t retries = 0;                                      // of `requests`

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : requests) sum += count;
    return sum;
  }
};

// Counts. Thread safety: any thread.
class Meter {
 public:
  void count(Request kind, std::int64_t sent = 0, std::int64_t received = 0) {
    requests_[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
    sent_.fetch_add(sent, std::memory_order_relaxed);
    received_.fetch_add(received, std::memory_order_relaxed);
  }
  void count_retry() { retries_.fetch_add(1, std::memory_order_relaxed); }

  Usage usage() const {
    Usage now;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      now.requests[i] = requests_[i].load(std::memory_order_relaxed);
    }
    now.bytes_sent = sent_.load(std::memory_order_relaxed);
    now.bytes_received = received_.load(std::memory_order_relaxed);
    now.retries = retries_.load(std::memory_order_relaxed);
    return now;
  }

 private:
  std::array<std::atomic<std::int64_t>, kRequestNames.size()> requests_ = {};
  std::atomic<std::int64_t> sent_ = 0, received_ = 0, retries_ = 0;
};

}  // namespace meanwhile::storage
