// A record of reads (reads.bin), with a right seal: what is read is what the rule allows, and is
// written again as it was.
#include "meanwhile/tables/reads_log.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace tables = meanwhile::tables;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // As it came: refused, but for the rare input whose seal is right.
  fuzz::outcome([&] { tables::ReadsLog::read(fuzz::as_bytes(bytes, size), "reads.bin"); });
  const auto record = fuzz::resealed(fuzz::as_bytes(bytes, size));
  if (!record) return 0;
  fuzz::outcome([&] {
    const tables::ReadsLog log = tables::ReadsLog::read(*record, "reads.bin");
    const auto histogram = tables::staleness_histogram(log);
    if (std::ssize(histogram) > log.staleness() + 1) fuzz::fail("a read beyond the bound");
    const auto again = log.bytes();
    if (tables::ReadsLog::read(again, "again").bytes() != again) {
      fuzz::fail("a record that changes when it is written");
    }
  });
  return 0;
}
