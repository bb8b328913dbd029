#include "meanwhile/data/files/readers.h"
#include "test/fuzz/text_fuzz.h"

using meanwhile::data::Missing;
using meanwhile::data::ReadOptions;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = meanwhile::fuzz::as_bytes(bytes, size);
  meanwhile::fuzz::check_text<float>(input, meanwhile::data::kCsvReader, {});
  ReadOptions labelled;
  labelled.header = true;
  labelled.label_column = "-1";
  labelled.weight_column = "0";
  meanwhile::fuzz::check_text<float>(input, meanwhile::data::kCsvReader, labelled);
  ReadOptions filled;
  filled.missing = Missing::kIndicator;
  filled.max_levels = 2;
  meanwhile::fuzz::check_text<float>(input, meanwhile::data::kCsvReader, filled);
  ReadOptions dropped;
  dropped.missing = Missing::kDrop;
  dropped.label_column = "-1";
  meanwhile::fuzz::check_text<float>(input, meanwhile::data::kCsvReader, dropped);
  return 0;
}
