// result.json: how a job ended, as status and fetch read it.
#include "meanwhile/runtime/storage/result.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  meanwhile::storage::Store store = fuzz::memory_store();
  static const runtime::JobRecord job = fuzz::small_job();
  store.blobs->put(job.names().result(), fuzz::as_bytes(bytes, size));
  store.blobs->put(job.names().model(), runtime::seal({}, {{"kind", "model"}}));
  if (runtime::status_of(store, job).rounds < 0) fuzz::fail("a count below 0");
  meanwhile::base::SystemClock clock;
  fuzz::outcome([&] { runtime::result_of(*store.blobs, job, clock); });
  return 0;
}
