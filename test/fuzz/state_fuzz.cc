// A state of a job, with a right seal: a worker goes on from it.
#include "meanwhile/learn/registry.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/open_store.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;

namespace {

struct NoEnvironment final : runtime::Environment {
  double time_s() override { return 0; }
  void wake(runtime::Activity) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto state = fuzz::resealed(fuzz::as_bytes(bytes, size));
  if (!state) return 0;
  meanwhile::storage::Store store = fuzz::memory_store();
  static const runtime::JobRecord job = fuzz::small_job();
  store.blobs->put(job.names().state(3), *state);
  const runtime::MakeLearner make = runtime::learner_of(meanwhile::learn::standard_registry(), job);
  runtime::ShardRunner runner(*store.blobs, job, make, 1, 0);
  fuzz::outcome([&] {
    if (!runner.catch_up()) return;
    if (runner.rounds() < 0 || runner.rounds() > 3) fuzz::fail("rounds that were never done");
    NoEnvironment environment;
    runtime::Uploads uploads(environment);
    runtime::Archive archive(store, job, uploads, 0);
    archive.begin(runner.state_metadata());
    if (!(archive.elapsed_s() >= 0)) fuzz::fail("a time below 0");
    runner.update_shape();
    runner.model_sha256();
  });
  return 0;
}
