// The format of LDA-C: "entries word:count word:count ...", a document a line, words from 0. The
// first number says how many pairs follow and is checked. Empty lines are skipped.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/sparse_lines.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

// Reads the whole number up to `most` at `p` and moves `p` behind it; -1 if there is none.
std::int64_t whole(const char*& p, std::int64_t most) {
  const char* const begin = p;
  std::int64_t value = 0;
  for (; *p >= '0' && *p <= '9'; ++p) {
    value = value * 10 + (*p - '0');
    if (value > most) return -1;
  }
  return p == begin ? -1 : value;
}

template <class T>
class LdacParser : public TextParser<T> {
 public:
  static constexpr bool kCountsFromOne = false;
  void parse(std::string_view text, RowChunk<T>& rows) const override {
    rows.clear(text.size() / 2 + 1, text.size() / 4 + 1, true);
    const char* const end = text.data() + text.size();
    std::vector<Entry> entries;
    for (const char* p = text.data(); p < end; ++p, ++rows.lines) {
      p = skip_blanks(p);
      if (*p == '\n') continue;
      const char* const line = p;
      const std::int64_t count = whole(p, kMost);
      if (count < 0 || !ends(*p)) {
        fail_at(text, line, "found {}, expected the number of words that follow",
                in_quotes(token_at(line)));
      }
      entries.clear();
      for (p = skip_blanks(p); *p != '\n'; p = skip_blanks(p)) entries.push_back(entry(text, p));
      if (static_cast<std::int64_t>(entries.size()) != count) {
        fail_at(text, line, "found {} words, expected {} as the first number of the line says",
                entries.size(), count);
      }
      end_row(text, line, entries, rows);
    }
  }

 private:
  struct Entry {
    std::int32_t word;
    T count;
  };
  static constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

  static bool ends(char c) { return is_blank(c) || c == '\n'; }

  static Entry entry(std::string_view text, const char*& p) {
    const char* const begin = p;
    const std::int64_t word = whole(p, kMost - 1);
    if (word >= 0 && *p == ':') {
      const std::int64_t count = whole(++p, std::numeric_limits<std::int64_t>::max() / 10 - 1);
      if (count > 0 && ends(*p)) return {static_cast<std::int32_t>(word), static_cast<T>(count)};
    }
    fail_at(text, begin,
            "found {}, expected word:count (whole numbers, words from 0, counts from 1)",
            in_quotes(token_at(begin)));
  }

  static void end_row(std::string_view text, const char* line, std::vector<Entry>& entries,
                      RowChunk<T>& rows) {
    const auto by_word = [](const Entry& a, const Entry& b) { return a.word < b.word; };
    if (!std::is_sorted(entries.begin(), entries.end(), by_word)) {
      std::sort(entries.begin(), entries.end(), by_word);
    }
    std::int32_t previous = -1;
    for (const Entry& entry : entries) {
      if (entry.word == previous) {
        fail_at(text, line, "found word {} twice in this line, expected each once", entry.word);
      }
      previous = entry.word;
      rows.columns[rows.stored] = entry.word;
      rows.values[rows.stored] = entry.count;
      ++rows.stored;
    }
    rows.max_column = std::max<std::int64_t>(rows.max_column, previous);
    rows.row_end[rows.rows++] = static_cast<std::int64_t>(rows.stored);
  }
};

}  // namespace

constinit const Reader kLdacReader = {
    .name = "ldac",
    .title = "LDA-C",
    .file_names = {"*.ldac", "*.lda-c"},
    .gives = "sparse",
    .kind = TextKind{.open_float32 = open_sparse_lines<LdacParser, float>,
                     .open_float64 = open_sparse_lines<LdacParser, double>},
};

}  // namespace meanwhile::data
