#include <memory>

#include "meanwhile/data/files/csv.h"
#include "test/fuzz/text_fuzz.h"

using meanwhile::data::CsvFormat;
using meanwhile::data::ReadOptions;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto check = [&](const ReadOptions& options) {
    meanwhile::fuzz::check_text<float>(meanwhile::fuzz::as_bytes(bytes, size), [&options] {
      return std::make_unique<CsvFormat<float>>(options);
    });
  };
  check({});
  ReadOptions labelled;
  labelled.header = true;
  labelled.label_column = "-1";
  labelled.weight_column = "0";
  check(labelled);
  return 0;
}
