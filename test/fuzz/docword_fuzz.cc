#include <memory>

#include "meanwhile/data/files/docword.h"
#include "test/fuzz/text_fuzz.h"

using meanwhile::data::DocwordFormat;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  meanwhile::fuzz::check_text<float>(meanwhile::fuzz::as_bytes(bytes, size),
                                     [] { return std::make_unique<DocwordFormat<float>>(0); });
  return 0;
}
