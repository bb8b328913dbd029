// A table of fixed size, because a signal handler can neither lock nor allocate. It is the one
// global of the library: a handler is passed an address and nothing else.
#include "meanwhile/base/mapped_files.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace meanwhile::base {

namespace {

constexpr std::size_t kLongestPath = 400;  // longer ones are cut

struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0, end = 0;  // empty while the path is written
  std::array<char, kLongestPath + 1> path = {};
};

constinit std::array<Slot, 256> slots;

}  // namespace

const char* mapped_path(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Slot& slot : slots) {
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (at < end && at >= slot.begin.load(std::memory_order_acquire)) return slot.path.data();
  }
  return nullptr;
}

int register_mapping(std::span<const std::byte> bytes, const char* path) noexcept {
  int number = 0;
  for (Slot& slot : slots) {
    if (!slot.taken.exchange(true, std::memory_order_acquire)) {
      std::strncpy(slot.path.data(), path, kLongestPath);
      const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
      slot.begin.store(begin, std::memory_order_release);
      slot.end.store(begin + bytes.size(), std::memory_order_release);
      return number;
    }
    ++number;
  }
  return -1;
}

void forget_mapping(int slot) noexcept {
  if (slot < 0) return;
  Slot& old = slots[static_cast<std::size_t>(slot)];
  old.end.store(0, std::memory_order_release);
  old.begin.store(0, std::memory_order_release);
  old.taken.store(false, std::memory_order_release);
}

}  // namespace meanwhile::base
