// metrics.jsonl of a store: lines, and the seal behind them.
#include "meanwhile/runtime/storage/history.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const runtime::History history = runtime::parse_history(text);
  const runtime::History again =
      runtime::parse_history(runtime::sealed(runtime::text_of(history.lines)));
  if (!again.whole) fuzz::fail("lines that were sealed here are not whole");
  if (again.lines.size() != history.lines.size()) fuzz::fail("another number of lines");
  return 0;
}
