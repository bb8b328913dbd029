// The last record of a worker that has gone, which the bill adds up: two of them.
#include "meanwhile/runtime/storage/result.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::MemoryBlobs blobs;
  static const runtime::JobRecord job = fuzz::small_job();
  for (const char* worker : {"a", "b"}) {
    blobs.put(job.names().usage(worker), fuzz::as_bytes(bytes, size));
  }
  const runtime::Json bill = runtime::bill(blobs, job, {});
  for (const char* key : {"requests_total", "polls", "bytes_sent", "bytes_received", "retries"}) {
    if (bill[key].get<std::int64_t>() < 0) fuzz::fail(std::string("below 0: ") + key);
  }
  if (!(bill["price"].get<double>() >= 0)) fuzz::fail("a price below 0");
  return 0;
}
