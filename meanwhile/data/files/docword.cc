// The bag-of-words format of the UCI repository: three lines with the numbers of documents, words
// and entries, then lines "document word count", all counted from 1, a document's lines together
// and documents in increasing order. A document without lines is an empty row.
//
// Chunks are cut between documents, so a document's words are sorted and checked where they are
// parsed. Words are nearly always in order already, and then nothing is moved.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

struct Header {
  std::int64_t documents = 0, words = 0, entries = 0;
};

// One line of a file; numbers count from 1.
struct Entry {
  std::int64_t document = 0, word = 0, count = 0;
};

template <class T>
class Parser : public TextParser<T> {
 public:
  explicit Parser(const Header& header) : header_(header) {}

  // Cuts before the last line whose document differs from that of the line before it.
  std::size_t cut(std::string_view text) const override {
    std::size_t line = cut_at_line(text);  // one behind the last whole line
    if (line == 0) return 0;
    std::string_view later;  // the document of the line at `line`, if any
    while (line > 0) {
      const std::size_t before = line < 2 ? 0 : text.rfind('\n', line - 2) + 1;
      const std::string_view document = token_at(skip_blanks(text.data() + before));
      if (!later.empty() && !document.empty() && document != later) return line;
      if (!document.empty()) later = document;
      line = before;
    }
    return 0;
  }

  void parse(std::string_view text, RowChunk<T>& rows) const override {
    rows.clear(text.size() / 6 + 1, text.size() / 6 + 1, true);  // "1 1 1\n"
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    std::int64_t document = 0;
    const char* document_begin = begin;
    std::size_t row_begin = 0;
    bool sorted = true;
    for (const char* p = begin; p < end; ++p, ++rows.lines) {
      p = skip_blanks(p);
      if (*p == '\n') continue;
      const char* const line = p;
      Entry entry;
      p = number(begin, p, "a document", header_.documents, entry.document);
      p = number(begin, p, "a word", header_.words, entry.word);
      p = number(begin, p, "a count", std::numeric_limits<std::int64_t>::max(), entry.count);
      p = skip_blanks(p);
      if (*p != '\n') fail(begin, p, "found {}, expected the end of the line", token_at(p));
      if (entry.document != document) {
        if (entry.document < document) {
          throw BadText{static_cast<std::size_t>(line - begin),
                        fmt::format("found document {} after document {}, expected documents in "
                                    "increasing order; sort the file",
                                    entry.document, document)};
        }
        if (document != 0) end_row(rows, row_begin, sorted, begin, document_begin);
        document = entry.document;
        document_begin = line;
        row_begin = rows.stored;
        sorted = true;
        rows.row_number.push_back(document - 1);
      } else {
        sorted &= entry.word - 1 > rows.columns[rows.stored - 1];
      }
      rows.columns[rows.stored] = static_cast<std::int32_t>(entry.word - 1);
      rows.values[rows.stored] = static_cast<T>(entry.count);
      ++rows.stored;
    }
    if (document != 0) end_row(rows, row_begin, sorted, begin, document_begin);
  }

  std::int64_t end(std::int64_t rows, std::int64_t stored) const override {
    if (stored != header_.entries) {
      throw base::Error(base::ErrorKind::kInput,
                        "found {} entries, expected {} as line 3 says; was the file cut short?",
                        stored, header_.entries);
    }
    return std::max(rows, header_.documents);
  }

 private:
  // The whole number in [1, most] at `p`, which a blank or the line end follows.
  static const char* number(const char* begin, const char* p, std::string_view what,
                            std::int64_t most, std::int64_t& value) {
    p = skip_blanks(p);
    const char* const start = p;
    value = 0;
    for (; *p >= '0' && *p <= '9'; ++p) {
      if (*p - '0' > most || value > (most - (*p - '0')) / 10) {
        fail(begin, start, "found {}, expected {} of at most {}", token_at(start), what, most);
      }
      value = value * 10 + (*p - '0');
    }
    if (p == start || !(is_blank(*p) || *p == '\n') || value == 0) {
      fail(begin, start, "found {}, expected {} (a whole number of at least 1)", token_at(start),
           what);
    }
    return p;
  }

  template <class... Args>
  [[noreturn]] static void fail(const char* begin, const char* at,
                                fmt::format_string<std::string, Args...> format,
                                std::string_view token, Args&&... args) {
    throw BadText{static_cast<std::size_t>(at - begin),
                  fmt::format(format, in_quotes(token), std::forward<Args>(args)...)};
  }

  // Sorts the words of the last document if need be. THROWS BadText for a repeated word.
  static void end_row(RowChunk<T>& rows, std::size_t first, bool sorted, const char* begin,
                      const char* document_begin) {
    std::int32_t* const columns = rows.columns.data();
    if (!sorted) {
      std::vector<std::pair<std::int32_t, T>> entries;
      for (std::size_t i = first; i < rows.stored; ++i) {
        entries.emplace_back(columns[i], rows.values[i]);
      }
      std::sort(entries.begin(), entries.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i > 0 && entries[i].first == entries[i - 1].first) {
          throw BadText{static_cast<std::size_t>(document_begin - begin),
                        fmt::format("found word {} twice in document {}, which begins here; "
                                    "expected each word once, with the sum of its counts",
                                    entries[i].first + 1, rows.row_number.back() + 1)};
        }
        columns[first + i] = entries[i].first;
        rows.values[first + i] = entries[i].second;
      }
    }
    rows.max_column = std::max<std::int64_t>(rows.max_column, columns[rows.stored - 1]);
    rows.row_end[rows.rows++] = static_cast<std::int64_t>(rows.stored);
  }

  const Header header_;
};

// The number alone on line `line` (from 1) of the header, which begins at `at`.
std::int64_t header_number(std::string_view text, std::size_t& at, int line,
                           std::string_view what) {
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const std::string_view found = text.substr(at, end - at);
  std::size_t first = 0, last = found.size();
  while (first < last && is_blank(found[first])) ++first;
  while (first < last && is_blank(found[last - 1])) --last;
  const std::string_view token = found.substr(first, last - first);
  std::int64_t value = 0;
  bool good = !token.empty() && token.size() <= 18;
  for (const char c : token) {
    good &= c >= '0' && c <= '9';
    if (good) value = value * 10 + (c - '0');
  }
  if (!good) {
    throw BadText{at + first, fmt::format("found {}, expected {} alone on line {}",
                                          in_quotes(token), what, line)};
  }
  at = std::min(end + 1, text.size());
  return value;
}

template <class T>
class DocwordFormat : public TextFormat<T> {
 public:
  // The data has at least `n_features` columns.
  explicit DocwordFormat(std::int64_t n_features) : cols_(n_features) {}
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override;
  RowsDescription description() const override { return {cols_, {}, nullptr, {}, true}; }

 private:
  std::int64_t cols_;  // the largest number of words of any file so far
};

template <class T>
std::shared_ptr<const TextParser<T>> DocwordFormat<T>::open(TextSource& source) {
  const std::string_view text = source.head(4096);  // three numbers
  if (text.empty()) throw base::Error(base::ErrorKind::kInput, "{}: has no rows", source.name());
  std::size_t at = 0;
  Header header;
  header.documents = header_number(text, at, 1, "the number of documents");
  const std::size_t words_at = at;
  header.words = header_number(text, at, 2, "the number of words");
  if (header.words > std::numeric_limits<std::int32_t>::max()) {
    throw BadText{words_at, fmt::format("found {} words, expected at most {}", header.words,
                                        std::numeric_limits<std::int32_t>::max())};
  }
  header.entries = header_number(text, at, 3, "the number of entries");
  source.skip(at);
  cols_ = std::max(cols_, header.words);
  return std::make_shared<Parser<T>>(header);
}

template <class T>
std::unique_ptr<TextFormat<T>> open(const ReadOptions& options) {
  return std::make_unique<DocwordFormat<T>>(options.n_features);
}

Match recognise(const FileStart& start) {
  const auto& lines = start.lines;
  if (lines.size() < 3) return Match::kNo;
  for (std::size_t i = 0; i < 3; ++i) {
    if (lines[i].size() != 1 || !is_digits(lines[i][0])) return Match::kNo;
  }
  const bool fits =
      lines.size() == 3
          ? lines[2][0] == "0"
          : lines[3].size() == 3 && std::all_of(lines[3].begin(), lines[3].end(), is_digits);
  return fits ? Match::kLikely : Match::kNo;
}

}  // namespace

constinit const Reader kDocwordReader = {
    .name = "docword",
    .title = "UCI bag of words",
    .file_names = {"docword*.txt"},
    .recognised_by = "three lines of one number each, then lines of three",
    .gives = "sparse",
    .recognise = recognise,
    .kind = TextKind{.open_float32 = open<float>,
                     .open_float64 = open<double>,
                     .can_cut = false},  // the first lines count the rows that follow
};

}  // namespace meanwhile::data
