#include "meanwhile/data/files/idx.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const data::DType dtype : {data::DType::kFloat32, data::DType::kFloat64}) {
    fuzz::outcome([&] {
      const data::Dataset dataset = data::read_idx(fuzz::as_bytes(bytes, size), "input", dtype);
      fuzz::walk(dataset);
      data::check_finite(dataset.x, "input", 1);
    });
  }
  return 0;
}
