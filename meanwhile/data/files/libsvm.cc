// The text format of LIBSVM and SVMlight: "label index:value index:value ... # comment", a row a
// line, indices from 1 and strictly increasing. "qid:" is skipped, explicit zeros are kept.
//
// The parser is one loop over index:value pairs.
//
// Invariants: columns of a row strictly increase; a pair takes at least four bytes and a row two,
// so the buffers of a chunk are large enough before the first byte is parsed, and no store is
// checked. Loops have no other end: each stops at the '\n' that ends the chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/sparse_lines.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

inline bool ends_value(char c) { return is_blank(c) || c == '\n' || c == '#'; }

template <class T>
class LibsvmParser : public TextParser<T> {
 public:
  static constexpr bool kCountsFromOne = true;
  void parse(std::string_view text, RowChunk<T>& rows) const override {
    rows.clear(text.size() / 2 + 1, text.size() / 4 + 1, true);
    rows.labelled = true;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    T* const values = rows.values.data();
    std::int32_t* const columns = rows.columns.data();
    std::size_t row = 0, stored = 0;
    std::int64_t lines = 0;
    std::int32_t max_column = -1;

    for (const char* p = begin; p < end; ++p, ++lines) {  // p: the start, then the end of a line
      p = skip_blanks(p);
      if (*p == '\n') continue;
      if (*p == '#') {
        p = line_end(p, end);
        continue;
      }
      const char* const after = parse_number(p, end, rows.labels[row]);
      if (after == nullptr || !ends_value(*after)) bad_label(text, p);
      p = after;
      std::int32_t previous = 0;
      for (;;) {
        p = skip_blanks(p);
        // index:value mostly fits in sixteen bytes.
        const unsigned others = other_bytes(p);
        const unsigned digits = lowest(others);
        if (digits - 1 < 8 && p[digits] == ':') [[likely]] {
          const auto index = static_cast<std::int32_t>(digits_value(eight_bytes(p), digits));
          const char* value = p + digits + 1;
          unsigned value_others = others >> (digits + 1);
          // A branch, not arithmetic: the many values without a sign would wait for arithmetic.
          const bool negative = *value == '-';
          if (negative) [[unlikely]] {
            ++value;
            value_others >>= 1;
          }
          const unsigned length = parse_short_number(value, value_others, values[stored]);
          if (index > previous && length > 0 && ends_value(value[length])) [[likely]] {
            if (negative) [[unlikely]]
              values[stored] = -values[stored];
            columns[stored++] = index - 1;
            previous = index;
            p = value + length;
            continue;
          }
        }
        if (*p == '\n') break;
        if (*p == '#') {
          p = line_end(p, end);
          break;
        }
        if (std::memcmp(p, "qid:", 4) == 0) {
          p += token_at(p).size();
          continue;
        }
        p = hard_pair(text, p, previous, values[stored]);
        columns[stored++] = previous - 1;
      }
      max_column = std::max(max_column, previous - 1);
      rows.row_end[row++] = static_cast<std::int64_t>(stored);
    }
    rows.rows = row;
    rows.stored = stored;
    rows.lines = lines;
    rows.max_column = max_column;
  }

 private:
  static const char* line_end(const char* p, const char* end) {
    return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
  }

  // Parses a pair that is long, has an exponent, or is wrong. Returns its end and sets `previous`
  // to its index.
  [[gnu::noinline]] static const char* hard_pair(std::string_view text, const char* p,
                                                 std::int32_t& previous, T& value) {
    const std::string_view token = token_at(p);
    std::int64_t index = 0;
    const char* after = p;
    for (; *after >= '0' && *after <= '9'; ++after) {
      index = index * 10 + (*after - '0');
      if (index > kMaxIndex) {
        fail_at(text, p, "found {}, expected an index of at most {}", in_quotes(token), kMaxIndex);
      }
    }
    if (after == p || *after != ':') {
      const char* const negative = *p == '-' ? "; indices start at 1 and are not negative" : "";
      fail_at(text, p, "found {}, expected index:value{}", in_quotes(token), negative);
    }
    if (index == 0)
      fail_at(text, p,
              "found index 0, expected 1 or more: indices start at 1; if this is LDA-C, "
              "use `format` ldac");
    if (index == previous) {
      fail_at(text, p, "found index {} twice, expected indices that increase strictly", index);
    }
    if (index < previous) {
      fail_at(text, p, "found index {} after index {}, expected indices that increase strictly",
              index, previous);
    }
    previous = static_cast<std::int32_t>(index);
    const char* const number = after + 1;
    after = parse_number(number, text.data() + text.size(), value);
    if (after == nullptr || !ends_value(*after)) {
      fail_at(text, number, "{}", not_a_value(token_at(number), type_name<T>(), ""));
    }
    return after;
  }

  [[gnu::noinline, noreturn]] static void bad_label(std::string_view text, const char* p) {
    const std::string_view token = token_at(p);
    if (token.find(':') != token.npos) {
      fail_at(text, p, "found {}, expected a label before the first index:value", in_quotes(token));
    }
    fail_at(text, p, "{}", not_a_value(token, "float64", "a label must be a number"));
  }
};

// "12:..." or "qid:..."
bool is_pair(std::string_view token) {
  const std::size_t colon = token.find(':');
  return token.starts_with("qid:") || (colon != token.npos && is_digits(token.substr(0, colon)));
}

// A label, pairs, and a comment.
bool is_row(const std::vector<std::string>& line) {
  const auto comment = std::find_if(line.begin(), line.end(),
                                    [](const std::string& token) { return token[0] == '#'; });
  return is_number(line[0]) && std::all_of(line.begin() + 1, comment, is_pair);
}

Match recognise(const FileStart& start) {
  const auto& lines = start.lines;
  const bool any_pair = std::any_of(lines.begin(), lines.end(), [](const auto& line) {
    return line.size() > 1 && is_pair(line[1]);
  });
  if (!any_pair) return Match::kNo;
  // Documents may contain 12:30 somewhere.
  if (start.expect_documents && !std::all_of(lines.begin(), lines.end(), is_row)) return Match::kNo;
  return Match::kLikely;
}

}  // namespace

constinit const Reader kLibsvmReader = {
    .name = "libsvm",
    .title = "libsvm",
    .file_names = {"*.libsvm", "*.svm", "*.svmlight", "*.t"},
    .recognised_by =
        "`12:` after the first token of a line; where documents are expected, nothing "
        "but such pairs after the label",
    .gives = "sparse, labels",
    .recognise = recognise,
    .kind = TextKind{.open_float32 = open_sparse_lines<LibsvmParser, float>,
                     .open_float64 = open_sparse_lines<LibsvmParser, double>},
};

}  // namespace meanwhile::data
