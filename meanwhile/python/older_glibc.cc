// The random numbers of std::random_device, which libstdc++ takes from arc4random(). glibc has that
// function since 2.36 alone: with this one in its place, the module runs on systems with glibc
// 2.34.
#include <sys/random.h>

#include <cstdint>

#include "meanwhile/base/error.h"

extern "C" std::uint32_t arc4random();

extern "C" std::uint32_t arc4random() {
  std::uint32_t bits = 0;
  if (getrandom(&bits, sizeof(bits), 0) != static_cast<ssize_t>(sizeof(bits))) {
    throw meanwhile::base::Error(meanwhile::base::ErrorKind::kSystem,
                                 "the system gives no random numbers");
  }
  return bits;
}
