// The heartbeat of a worker: what status, other workers and the bill make of it.
#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/result.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  meanwhile::storage::Store store = fuzz::memory_store();
  static const runtime::JobRecord job = fuzz::small_job();
  store.blobs->put(job.names().live("worker"), fuzz::as_bytes(bytes, size));
  store.blobs->put(job.names().ready(), {});
  const runtime::Status status = runtime::status_of(store, job);
  if (status.step < 0 || status.rounds < 0 || status.rounds_left < 0 || !(status.round_s >= 0)) {
    fuzz::fail("a count below 0");
  }
  for (const runtime::LiveRecord& record : status.workers) record.tasks();
  runtime::what_is_missing(*store.blobs, job, 0);
  runtime::push_missing(store, job);
  runtime::bill(*store.blobs, job, {});
  return 0;
}
