// Words of ASCII, which nearly all are, take one look-up a byte and no copy unless a letter is a
// capital. Characters of two bytes go by a table. All others, and those with marks, go through
// utf8proc: NFC, lower case, NFC. The second NFC is needed: J with a caron has no character of its
// own, j has one. So is the first: I with a dot above is one character whose lower case is i.
#include "meanwhile/data/text/tokens.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

namespace {

// Flags of bytes. A byte without any separates words.
constexpr std::uint8_t kLower = 1, kUpper = 2, kDigitByte = 4, kNotAscii = 8, kLineEndByte = 16;
constexpr std::uint8_t kWordByte = kLower | kUpper | kDigitByte;

constexpr std::array<std::uint8_t, 256> kBytes = [] {
  std::array<std::uint8_t, 256> flags{};
  for (std::size_t c = 'a'; c <= 'z'; ++c) flags[c] = kLower;
  for (std::size_t c = 'A'; c <= 'Z'; ++c) flags[c] = kUpper;
  for (std::size_t c = '0'; c <= '9'; ++c) flags[c] = kDigitByte;
  for (std::size_t c = 0x80; c < 256; ++c) flags[c] = kNotAscii;
  flags['\n'] = kLineEndByte;
  return flags;
}();

std::uint8_t flags(char c) { return kBytes[static_cast<unsigned char>(c)]; }

constexpr std::size_t kMostBytes =
    1024;  // of a word before it is folded; a longer run is not a word

Alphabet::Kind kind_by_category(std::int32_t character) {
  switch (character) {
    case '\'':
    case 0x2019:
      return Alphabet::kApostrophe;
    case 0xad:    // soft hyphen
    case 0x200c:  // zero width non-joiner, joiner
    case 0x200d:
    case 0x2060:  // word joiner
      return Alphabet::kJoiner;
    default:
      break;
  }
  switch (utf8proc_category(character)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Alphabet::kLetter;
    case UTF8PROC_CATEGORY_ND:
      return Alphabet::kDigit;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return Alphabet::kMark;
    default:
      return Alphabet::kOther;
  }
}

bool begins_word(Alphabet::Kind kind) {
  return kind == Alphabet::kLetter || kind == Alphabet::kDigit;
}

// Whether NFC leaves the character alone.
bool is_composed(std::int32_t character) {
  std::array<std::int32_t, 32> parts;
  utf8proc_ssize_t count = utf8proc_decompose_char(
      character, parts.data(), parts.size(),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), nullptr);
  count = utf8proc_normalize_utf32(
      parts.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  return count == 1 && parts[0] == character;
}

void append_utf8(std::string& text, std::int32_t character) {
  if (character < 0x80) {
    text += static_cast<char>(character);
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t size = utf8proc_encode_char(character, bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
}

}  // namespace

Alphabet::Alphabet() {
  for (std::int32_t c = 0; c < kTable; ++c) {
    Entry& entry = table_[static_cast<std::size_t>(c)];
    const std::int32_t small = utf8proc_tolower(c);
    entry.kind = kind_by_category(c);
    entry.simple = begins_word(entry.kind) && small < kTable && is_composed(c) &&
                   is_composed(small) && utf8proc_tolower(small) == small;
    entry.lower = static_cast<std::uint16_t>(entry.simple ? small : c);
  }
}

Alphabet::Kind Alphabet::kind(std::int32_t character) const {
  return character < kTable ? table_[static_cast<std::size_t>(character)].kind
                            : kind_by_category(character);
}

// The character at `p`, and the number of its bytes.
std::int32_t Tokens::decode(const char* p, std::size_t& bytes) const {
  bytes = 1;
  if (!(flags(*p) & kNotAscii)) return *p;
  std::int32_t character = 0;
  const utf8proc_ssize_t size =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(p), end_ - p, &character);
  if (size < 1) {
    throw BadText{
        static_cast<std::size_t>(p - begin_),
        fmt::format("found byte 0x{:02x}, expected text in UTF-8; convert the file first, "
                    "for instance with iconv -f WINDOWS-1252 -t UTF-8",
                    static_cast<unsigned char>(*p))};
  }
  bytes = static_cast<std::size_t>(size);
  return character;
}

Tokens::Found Tokens::next() {
  if (at_ == end_) return Found::kEnd;
  const char* p = at_;
  for (;; ++p) {
    const std::uint8_t flag = flags(*p);
    if (flag == 0) [[likely]]
      continue;
    if (flag & kWordByte) break;
    if (flag == kLineEndByte) {
      at_ = p + 1;
      return Found::kLineEnd;
    }
    std::size_t bytes = 0;
    if (begins_word(alphabet_.kind(decode(p, bytes)))) {
      mixed_word(p);
      return Found::kWord;
    }
    p += bytes - 1;
  }
  // The '\n' at the end of the text ends these loops.
  std::uint8_t seen = 0;
  const char* q = p;
  for (;;) {
    while (flags(*q) & kWordByte) seen |= flags(*q++);
    if (*q != '\'' || !(flags(q[1]) & (kWordByte | kNotAscii))) break;
    if (flags(q[1]) & kNotAscii) {
      std::size_t bytes = 0;
      if (!begins_word(alphabet_.kind(decode(q + 1, bytes)))) break;
    }
    ++q;
  }
  if (flags(*q) & kNotAscii) {
    mixed_word(p);
    return Found::kWord;
  }
  at_ = q;
  const auto size = static_cast<std::size_t>(q - p);
  counts_ = size >= kShortestWord && size <= kLongestWord && seen != kDigitByte;
  word_ = {p, size};
  if (seen & kUpper) {
    folded_.resize(size);
    std::transform(p, q, folded_.begin(), [](char c) {
      return flags(c) & kUpper ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    word_ = folded_;
  }
  return Found::kWord;
}

// The end of the word that begins at `p`. Sets folded_ if all characters are simple.
const char* Tokens::find_end(const char* p, bool& simple, bool& digits) {
  folded_.clear();
  const char* const first = p;
  for (std::size_t bytes = 0;; p += bytes) {
    const std::int32_t character = decode(p, bytes);
    const Alphabet::Kind kind = alphabet_.kind(character);
    if (kind == Alphabet::kOther) return p;
    if (kind == Alphabet::kApostrophe) {
      std::size_t next = 0;
      if (!begins_word(alphabet_.kind(decode(p + bytes, next)))) return p;
      folded_ += '\'';
      continue;
    }
    digits &= kind == Alphabet::kDigit;
    simple &= alphabet_.simple(character);
    if (simple && static_cast<std::size_t>(p - first) <= kMostBytes) {
      append_utf8(folded_, alphabet_.lower(character));
    }
  }
}

void Tokens::mixed_word(const char* p) {
  bool simple = true, digits = true;
  at_ = find_end(p, simple, digits);
  const auto bytes = static_cast<std::size_t>(at_ - p);
  if (bytes > kMostBytes) {
    counts_ = false;
    word_ = {p, bytes};
    return;
  }
  if (!simple) {
    compose({p, bytes});
    folded_.clear();
    for (const std::int32_t character : characters_) {
      append_utf8(folded_, character == 0x2019 ? '\'' : utf8proc_tolower(character));
    }
    compose(std::string(folded_));
    folded_.clear();
    for (const std::int32_t character : characters_) append_utf8(folded_, character);
  }
  const auto size = std::count_if(folded_.begin(), folded_.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // the first byte of a character
  });
  const auto characters = static_cast<std::size_t>(size);
  counts_ = characters >= kShortestWord && characters <= kLongestWord && !digits;
  word_ = folded_;
}

// Sets characters_ to the NFC of `text` without invisible characters.
void Tokens::compose(std::string_view text) {
  characters_.resize(std::max<std::size_t>(characters_.size(), 4 * text.size()));
  const auto decompose = [&] {
    return utf8proc_decompose(
        reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
        static_cast<utf8proc_ssize_t>(text.size()), characters_.data(),
        static_cast<utf8proc_ssize_t>(characters_.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_IGNORE));
  };
  utf8proc_ssize_t count = decompose();
  if (count > static_cast<utf8proc_ssize_t>(characters_.size())) {
    characters_.resize(static_cast<std::size_t>(count));
    count = decompose();
  }
  count =
      utf8proc_normalize_utf32(characters_.data(), std::max<utf8proc_ssize_t>(count, 0),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  characters_.resize(static_cast<std::size_t>(count));
}

}  // namespace meanwhile::data
