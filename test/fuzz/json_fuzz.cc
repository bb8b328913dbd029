// Text from outside as JSON: what is accepted can be copied, compared, printed and read by type.
#include <fmt/format.h>

#include "meanwhile/base/json.h"
#include "test/fuzz/fuzz.h"

namespace base = meanwhile::base;
namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto json = base::try_parse_json(text);
  const std::string problem = fuzz::outcome([&] { base::parse_json(text, "input"); });
  if (json.has_value() != problem.empty())
    fuzz::fail(fmt::format("the two functions disagree: {}", problem));
  if (!json) {
    if (!problem.starts_with("input: "))
      fuzz::fail(fmt::format("the error has no name: {}", problem));
    return 0;
  }
  const base::Json copy = *json;
  if (copy != *json) fuzz::fail("a copy differs");
  const auto again = base::try_parse_json(copy.dump());
  if (!again) fuzz::fail("what was printed is not read");
  for (const char* key : {"", "a", "step"}) {
    base::number_or(copy, key, 0);
    base::integer_or(copy, key, 0);
    if (base::count_or(copy, key, 0) < 0) fuzz::fail("a count below 0");
    base::text_or(copy, key, "");
    base::flag_or(copy, key, false);
    base::texts_in(base::member_or_null(copy, key));
  }
  return 0;
}
