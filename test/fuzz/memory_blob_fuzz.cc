// The memory of a shard: exactly the tensors that the learner declared.
#include "meanwhile/learn/shard_memory.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace learn = meanwhile::learn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::outcome([&] {
    learn::ShardMemory memory(
        learn::MemoryShape{{"topics", "I32", {3}}, {"factors", "F32", {2, 2}}});
    memory.restore(meanwhile::data::SafetensorsFile(fuzz::as_bytes(bytes, size), "input"));
    if (memory.tensor<std::int32_t>("topics").size() != 3) fuzz::fail("another size");
  });
  return 0;
}
