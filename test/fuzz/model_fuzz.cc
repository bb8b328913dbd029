// A model file: every tensor of a type we compute with, and the hash that names the model.
#include "meanwhile/data/safetensors.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::outcome([&] {
    const data::SafetensorsFile file(fuzz::as_bytes(bytes, size), "input");
    data::sha256(file.tensors());
    double sum = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      if (tensor.dtype == "F32") {
        for (const float value : tensor.as<float>()) sum += value;
      } else if (tensor.dtype == "F64") {
        for (const double value : tensor.as<double>()) sum += value;
      }
    }
    volatile double used = sum;
    (void)used;
  });
  return 0;
}
