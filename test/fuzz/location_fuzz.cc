// Text of --store, and text that is shown: a location holds no secret, and what is shown holds
// nothing that a terminal acts on.
#include "meanwhile/base/safe_text.h"
#include "meanwhile/storage/store.h"
#include "test/fuzz/fuzz.h"

namespace base = meanwhile::base;
namespace fuzz = meanwhile::fuzz;
namespace storage = meanwhile::storage;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const std::string shown = base::printable(base::redacted(text));
  if (base::printable(shown) != shown) fuzz::fail("what is printable was changed again");
  for (const char c : shown) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\t') || code == 0x7f) fuzz::fail("a control byte");
  }
  fuzz::outcome([&] {
    const storage::Location location = storage::parse_location(text);
    if (base::redacted(location.url) != location.url) fuzz::fail("a location with a secret");
    if (location.kind == storage::Location::Kind::kDirectory) return;
    if (location.url.find_first_of("?@") != std::string::npos) fuzz::fail("a query or a user");
    if (location.account.size() < 3 || location.container.size() < 3) fuzz::fail("too short");
  });
  return 0;
}
