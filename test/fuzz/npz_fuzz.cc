// Zip archives of arrays. Checksums are wrong in nearly every input, so arrays are fuzzed by npy.
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  fuzz::outcome([&] {
    data::BinaryFile file;
    file.bytes = fuzz::as_bytes(bytes, size);
    file.name = "input";
    const auto& kind = std::get<data::BinaryKind>(data::kNpzReader.kind);
    fuzz::walk(kind.read(file, {}));
  });
  return 0;
}
