#include "meanwhile/data/files/npy.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::outcome([&] {
    const data::Dataset dataset =
        data::read_npy(fuzz::as_bytes(bytes, size), "input", nullptr, false);
    fuzz::walk(dataset);
    data::check_finite(dataset.x, "input", 1);
  });
  return 0;
}
