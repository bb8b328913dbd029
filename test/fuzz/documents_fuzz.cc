// Plain text: with words that are chosen from it, and with words that are given.
#include <memory>

#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/text/count_words.h"
#include "test/fuzz/text_fuzz.h"

using meanwhile::data::Vocabulary;

namespace fuzz = meanwhile::fuzz;

namespace {

// Chunks of a few bytes or all at once: the same words or the same error.
std::shared_ptr<const Vocabulary> chosen(std::span<const std::byte> bytes) {
  static fuzz::MemoryFile file;
  file.set(bytes);
  std::vector<std::string> found[2];
  std::string errors[2];
  for (const int i : {0, 1}) {
    errors[i] = fuzz::outcome([&] {
      meanwhile::data::ChunkLimits limits;
      limits.chunk_bytes = i == 0 ? bytes.size() + 1 : 1;
      found[i] =
          meanwhile::data::count_words({{file.path(), nullptr}}, {1, 1, 50, "none"}, 1, limits)
              .words();
    });
  }
  if (found[0] != found[1] || errors[0] != errors[1]) {
    fuzz::fail("whole: " + errors[0] + "\npieces: " + errors[1]);
  }
  return std::make_shared<const Vocabulary>(found[0]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = fuzz::as_bytes(bytes, size);
  meanwhile::data::ReadOptions options;
  options.vocabulary = chosen(input);
  fuzz::check_text<float>(input, meanwhile::data::kTextReader, options);
  return 0;
}
