// Vectors in large pages, for arrays that are read or written in no order: a page of 2 MB takes one
// entry of the processor's table of addresses, usual pages take 512 for as much.
#pragma once

#include <cstddef>
#include <vector>

namespace meanwhile::base {

// Memory in large pages where the system has them, and where `bytes` would fill one; else
// aligned to 64 bytes. THROWS std::bad_alloc.
void* allocate_large(std::size_t bytes);
void free_large(void* data, std::size_t bytes) noexcept;

template <class T>
struct LargePageAllocator {
  using value_type = T;
  LargePageAllocator() = default;
  template <class U>
  LargePageAllocator(const LargePageAllocator<U>&) noexcept {}  // as std::vector needs it

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* data, std::size_t count) noexcept { free_large(data, count * sizeof(T)); }
  bool operator==(const LargePageAllocator&) const = default;
};

template <class T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace meanwhile::base
