#include "meanwhile/data/text/vocabulary.h"

#include <bit>
#include <limits>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/token.h"
#include "meanwhile/data/word_hash.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  if (words_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw Error(ErrorKind::kInput, "found {} words, expected at most {}", words_.size(),
                std::numeric_limits<std::int32_t>::max());
  }
  slots_.resize(std::bit_ceil(2 * words_.size() + 1));
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::string& word = words_[i];
    if (word.empty()) throw Error(ErrorKind::kInput, "word {} is empty", i + 1);
    if (!is_utf8(word)) {
      throw Error(ErrorKind::kInput, "word {}, {}, is not UTF-8", i + 1, in_quotes(word));
    }
    if (const std::int32_t before = find(word); before >= 0) {
      throw Error(ErrorKind::kInput, "word {}, {}, repeats word {}; expected each word once", i + 1,
                  in_quotes(word), before + 1);
    }
    const std::uint64_t hash = word_hash(word);
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].column >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::int32_t>(i)};
  }
}

std::int32_t Vocabulary::find(std::string_view word) const {
  if (slots_.empty()) return -1;
  const std::uint64_t hash = word_hash(word);
  const auto upper = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
    const Slot slot = slots_[i];
    if (slot.column < 0) return -1;
    if (slot.hash == upper && words_[static_cast<std::size_t>(slot.column)] == word) {
      return slot.column;
    }
  }
}

Vocabulary read_vocabulary(const std::filesystem::path& path) {
  TextSource source(path);
  std::vector<std::string> words;
  try {
    TextChunk chunk;
    while (source.next({}, cut_at_line, chunk)) {
      for (std::string_view text = chunk.text(); !text.empty();) {
        const std::size_t end = text.find('\n');
        words.emplace_back(trimmed(text.substr(0, end)));
        text.remove_prefix(end + 1);
      }
    }
    if (words.empty()) throw Error(ErrorKind::kInput, "has no words, expected one on each line");
    return Vocabulary(std::move(words));
  } catch (const BadText& bad) {
    throw Error(ErrorKind::kInput, "{}: {}", source.name(), bad.message);
  } catch (Error& error) {
    throw error.in(source.name());
  }
}

}  // namespace meanwhile::data
