// JSON Lines: objects of any shape, as a table and as text of one key.
#include "meanwhile/data/files/readers.h"
#include "test/fuzz/text_fuzz.h"

using meanwhile::data::Missing;
using meanwhile::data::ReadOptions;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = meanwhile::fuzz::as_bytes(bytes, size);
  meanwhile::fuzz::check_text<float>(input, meanwhile::data::kJsonlReader, {});
  ReadOptions labelled;
  labelled.label_column = "y";
  labelled.missing = Missing::kIndicator;
  labelled.max_levels = 2;
  meanwhile::fuzz::check_text<float>(input, meanwhile::data::kJsonlReader, labelled);
  return 0;
}
