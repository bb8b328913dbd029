#include "meanwhile/base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "meanwhile/base/error.h"

namespace meanwhile::base {

namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
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
  void* moved = data_ == nullptr ? mmap(nullptr, want, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                 : mremap(data_, bytes_, want, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) throw system_error(fmt::format("allocating {} bytes", want), errno);
  data_ = static_cast<std::byte*>(moved);
  bytes_ = want;
}

}  // namespace meanwhile::base
