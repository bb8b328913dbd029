#include <memory>

#include "meanwhile/data/files/libsvm.h"
#include "test/fuzz/text_fuzz.h"

using meanwhile::data::LibsvmFormat;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  meanwhile::fuzz::check_text<double>(meanwhile::fuzz::as_bytes(bytes, size),
                                      [] { return std::make_unique<LibsvmFormat<double>>(0); });
  return 0;
}
