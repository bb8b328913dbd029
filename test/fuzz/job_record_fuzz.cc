// job.json: whoever writes it can make its id, so the id of the input is made right first.
#include "meanwhile/runtime/storage/record.h"
#include "test/fuzz/store_fuzz.h"

namespace base = meanwhile::base;
namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;
namespace storage = meanwhile::storage;

namespace {

constexpr std::int64_t kMost = 1'000'000;  // values; more are only slower

void use(const runtime::JobRecord& job) {
  const runtime::Layout layout = job.layout();
  if (runtime::tasks_of(layout).size() < static_cast<std::size_t>(job.shards())) {
    fuzz::fail("a shard without a task");
  }
  for (const auto* outline : {&job.data, job.eval ? &*job.eval : nullptr}) {
    if (outline == nullptr || outline->rows() > kMost || outline->stored() > kMost) continue;
    const meanwhile::data::ShardBuffer buffer(*outline);
    if (buffer.part({}).rows != outline->rows()) fuzz::fail("other rows");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::outcome([&] {
    fuzz::MemoryBlobs blobs;
    blobs.put(runtime::Names::job(), fuzz::as_bytes(bytes, size));
    if (const auto job = runtime::find_job(blobs)) use(*job);
  });
  const auto json = base::try_parse_object({reinterpret_cast<const char*>(bytes), size});
  if (!json) return 0;
  fuzz::outcome([&] {
    runtime::JobRecord job = runtime::fields_from_json(*json);
    runtime::settle_id(job);
    use(job);
    job.version = base::kVersion;
    runtime::settle_id(job);
    const runtime::JobRecord again = runtime::record_from_json(runtime::to_json(job), "job.json");
    if (again.id != job.id) fuzz::fail("another id when it is read again");
  });
  return 0;
}
