// Blobs that could not be read whole: how often each was tried, and since when.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace meanwhile::runtime {

// Thread safety: none.
class Unread {
 public:
  // The blob could not be read, once more. Returns whether that was so often, and for so long, that
  // it was not cut on its way, and does not show late.
  bool is_lost(const std::string& name, double now_s, int tries, double seconds) {
    auto& [count, since_s] = blobs_.try_emplace(name, 0, now_s).first->second;
    return ++count >= tries && now_s - since_s >= seconds;
  }
  void forget(const std::string& name) { blobs_.erase(name); }

 private:
  std::map<std::string, std::pair<int, double>> blobs_;
};

}  // namespace meanwhile::runtime
