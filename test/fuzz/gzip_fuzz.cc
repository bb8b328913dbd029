// Compressed bytes, gzip and zstd alike. They come as standard input, which is recognised by how it
// begins and needs no name.
#include "meanwhile/data/text/byte_stream.h"
#include "test/fuzz/fuzz.h"

namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static fuzz::MemoryFile file;
  static const bool redirected = dup2(file.descriptor(), STDIN_FILENO) == STDIN_FILENO;
  if (!redirected) fuzz::fail("standard input cannot be replaced");
  file.set(fuzz::as_bytes(bytes, size));
  fuzz::outcome([] {
    const auto stream = meanwhile::data::open_bytes("-");
    char piece[1000];
    // A few bytes may stand for gigabytes of zeros; a megabyte of them is enough.
    std::size_t total = 0;
    while (total < (std::size_t{1} << 20)) {
      const std::size_t count = stream->read(piece);
      if (count > sizeof piece) fuzz::fail("more was read than there was room for");
      if (count == 0) break;
      total += count;
    }
  });
  return 0;
}
