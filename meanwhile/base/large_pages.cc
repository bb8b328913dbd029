#include "meanwhile/base/large_pages.h"

#include <sys/mman.h>

#include <new>

namespace meanwhile::base {

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::align_val_t kLine{64};

}  // namespace

void* allocate_large(std::size_t bytes) {
  if (bytes < kLargePage) return ::operator new(bytes, kLine);
  const std::size_t whole = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  void* const data = ::operator new(whole, std::align_val_t(kLargePage));
  // Where there are no large pages, nothing is lost.
  madvise(data, whole, MADV_HUGEPAGE);
  return data;
}

void free_large(void* data, std::size_t bytes) noexcept {
  if (bytes < kLargePage) return ::operator delete(data, kLine);
  ::operator delete(data, std::align_val_t(kLargePage));
}

}  // namespace meanwhile::base
