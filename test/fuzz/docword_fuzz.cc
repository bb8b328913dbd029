#include "meanwhile/data/files/readers.h"
#include "test/fuzz/text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  meanwhile::fuzz::check_text<float>(meanwhile::fuzz::as_bytes(bytes, size),
                                     meanwhile::data::kDocwordReader, {});
  return 0;
}
