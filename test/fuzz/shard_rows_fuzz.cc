// The rows of a shard, with a right seal: they fill the place that the job says, or are refused.
#include "meanwhile/data/files/safetensors_data.h"
#include "meanwhile/data/shard_buffer.h"
#include "test/fuzz/store_fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const bool sparse : {false, true}) {
    data::Outline outline;
    outline.sparse = sparse;
    outline.cols = 3;
    outline.shard_rows = {2, 2};
    outline.shard_stored =
        sparse ? std::vector<std::int64_t>{3, 4} : std::vector<std::int64_t>{6, 6};
    outline.labelled = true;
    outline.class_names = {"no", "yes"};
    fuzz::outcome([&] {
      data::ShardBuffer buffer(outline);
      const auto rows =
          data::read_safetensors(fuzz::as_bytes(bytes, size), "input", nullptr, false);
      buffer.fill(0, rows);
      const data::Part part = buffer.part({0});
      if (data::rows(part.data.x) != 4) fuzz::fail("other rows");
    });
  }
  return 0;
}
