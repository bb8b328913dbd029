// An update, a sum or a total, with a right seal: it is read into the shape that was expected, or
// refused.
#include "meanwhile/exchange/update.h"
#include "test/fuzz/store_fuzz.h"

namespace exchange = meanwhile::exchange;
namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;

namespace {

exchange::UpdateShape shape() {
  using exchange::Combine;
  using exchange::Element;
  return {{4, 1, Element::kFloat64, Combine::kAdd, false},
          {3, 2, Element::kFloat32, Combine::kAdd, true},
          {5, 1, Element::kInt64, Combine::kMin, false}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::outcome([&] {
    const meanwhile::data::SafetensorsFile input(fuzz::as_bytes(bytes, size), "input");
    // The shape is a text that the fuzzer would have to guess.
    meanwhile::data::Metadata metadata = input.metadata();
    metadata["shape"] = exchange::text_of(shape());
    fuzz::MemoryBlobs blobs;
    blobs.put("total", runtime::seal(input.tensors(), metadata));
    const auto blob = runtime::get_sealed(blobs, "total");
    if (!blob) fuzz::fail("a blob with a right seal is refused");
    exchange::Update update(shape());
    if (!runtime::read_update(blob->file, update)) return;
    exchange::Update sum(shape());
    sum.settle();
    sum.add(update);
    runtime::seal_update(sum);
  });
  return 0;
}
