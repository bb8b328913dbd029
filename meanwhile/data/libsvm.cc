// libsvm: one loop over index:value pairs.
//
// Invariants: columns of a row strictly increase; a pair takes at least four bytes and a row two,
// so the buffers of a chunk are large enough before the first byte is looked at and no store is
// checked. Loops need no end either: every one of them stops at the '\n' that ends the chunk.
#include "meanwhile/data/libsvm.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "meanwhile/data/number.h"
#include "meanwhile/data/text_error.h"
#include "meanwhile/data/token.h"

namespace meanwhile::data {

namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

inline bool ends_value(char c) { return is_blank(c) || c == '\n' || c == '#'; }

template <class T>
class Parser : public TextParser<T> {
 public:
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
      const char* after = parse_number(p, end, rows.labels[row]);
      if (after == nullptr || !ends_value(*after)) bad_label(begin, p);
      p = after;
      std::int32_t previous = 0;
      for (;;) {
        p = skip_blanks(p);
        const Digits digits = leading_digits(p);
        std::int64_t index = static_cast<std::int64_t>(digits.value);
        after = p + digits.count;
        if (digits.count == 8) [[unlikely]]
          after = long_index(begin, p, index);
        if (*after != ':' || index <= previous) [[unlikely]] {
          if (*p == '\n') break;
          if (*p == '#') {
            p = line_end(p, end);
            break;
          }
          if (std::memcmp(p, "qid:", 4) == 0) {
            p += token_at(p).size();
            continue;
          }
          bad_index(begin, p, after, index, previous);
        }
        const char* const value = after + 1;
        after = parse_number(value, end, values[stored]);
        if (after == nullptr || !ends_value(*after)) [[unlikely]] {
          bad_value(begin, value);
        }
        p = after;
        previous = static_cast<std::int32_t>(index);
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

  // An index of eight digits or more: its end, and `index`, negative if it is beyond all bounds.
  [[gnu::noinline]] static const char* long_index(const char* begin, const char* p,
                                                  std::int64_t& index) {
    index = 0;
    const char* const start = p;
    for (; *p >= '0' && *p <= '9'; ++p) {
      index = index * 10 + (*p - '0');
      if (index > kMaxIndex) {
        fail(begin, start, "found {}, expected an index of at most {}", in_quotes(token_at(start)),
             kMaxIndex);
      }
    }
    return p;
  }

  template <class... Args>
  [[noreturn]] static void fail(const char* begin, const char* at,
                                fmt::format_string<Args...> format, Args&&... args) {
    throw BadText{static_cast<std::size_t>(at - begin),
                  fmt::format(format, std::forward<Args>(args)...)};
  }

  [[gnu::noinline, noreturn]] static void bad_label(const char* begin, const char* p) {
    const std::string_view token = token_at(p);
    if (token.find(':') != token.npos) {
      fail(begin, p, "found {}, expected a label before the first index:value", in_quotes(token));
    }
    fail(begin, p, "{}", not_a_value(token, "", "float64", "a label must be a number"));
  }

  [[gnu::noinline, noreturn]] static void bad_index(const char* begin, const char* p,
                                                    const char* after, std::int64_t index,
                                                    std::int64_t previous) {
    const std::string_view token = token_at(p);
    if (after == p || *after != ':') {
      const char* const negative = *p == '-' ? "; indices start at 1 and are not negative" : "";
      fail(begin, p, "found {}, expected index:value{}", in_quotes(token), negative);
    }
    if (index == 0) fail(begin, p, "found index 0, expected 1 or more: indices start at 1");
    if (index == previous) {
      fail(begin, p, "found index {} twice, expected indices that increase strictly", index);
    }
    fail(begin, p, "found index {} after index {}, expected indices that increase strictly", index,
         previous);
  }

  [[gnu::noinline, noreturn]] static void bad_value(const char* begin, const char* p) {
    fail(begin, p, "{}", not_a_value(token_at(p), "", type_name<T>(), ""));
  }
};

}  // namespace

template <class T>
LibsvmFormat<T>::LibsvmFormat(std::int64_t n_features)
    : n_features_(n_features), parser_(std::make_shared<Parser<T>>()) {}

template <class T>
std::shared_ptr<const TextParser<T>> LibsvmFormat<T>::open(TextSource&) {
  return parser_;
}

template class LibsvmFormat<float>;
template class LibsvmFormat<double>;

}  // namespace meanwhile::data
