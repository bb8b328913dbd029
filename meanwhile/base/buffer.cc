#include "meanwhile/base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "meanwhile/base/error.h"

namespace meanwhile::base {

namespace {

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = page_size();
  return (bytes + page - 1) / page * page;
}

void* map(std::size_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0);
}

void* remap(void* data, std::size_t before, std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  // The thread sanitizer knows mmap and munmap, but not mremap: it would take what one thread has
  // at an address that another's pages left for a race.
  void* moved = map(bytes);
  if (moved == MAP_FAILED) return moved;
  std::memcpy(moved, data, std::min(before, bytes));
  munmap(data, before);
  return moved;
#else
  return mremap(data, before, bytes, MREMAP_MAYMOVE);
#endif
}

// Large pages are faulted in with one trap instead of hundreds. Where there are none, nothing is
// lost; a small buffer would only waste the rest of one.
void advise_large(void* data, std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{16} << 20;
  if (bytes >= kLeast) madvise(data, bytes, MADV_HUGEPAGE);
}

}  // namespace

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void Pages::resize(std::size_t bytes) {
  const std::size_t want = whole_pages(bytes);
  if (want == bytes_) return;
  if (want == 0) {
    munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
    return;
  }
  void* moved = data_ == nullptr ? map(want) : remap(data_, bytes_, want);
  if (moved == MAP_FAILED) throw system_error(fmt::format("allocating {} bytes", want), errno);
  data_ = static_cast<std::byte*>(moved);
  bytes_ = want;
  advise_large(data_, bytes_);
}

void discard_pages(std::span<const std::byte> bytes) {
  const std::uintptr_t page = page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + bytes.size()) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace meanwhile::base
