// Plain text: a document a line, counted into a sparse row with a column for each word of a
// vocabulary. Every line is a document, also an empty one. tokens.h says what a word is.
#include <algorithm>
#include <memory>
#include <utility>

#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/stop_words.h"
#include "meanwhile/data/text/tokens.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

namespace {

template <class T>
class Parser : public TextParser<T> {
 public:
  Parser(const Vocabulary& vocabulary, const Vocabulary& stop)
      : columns_(vocabulary.size()), words_(joined(vocabulary, stop)) {}

  void parse(std::string_view text, RowChunk<T>& rows) const override {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    rows.clear(lines, text.size() / 2 + 1, true);  // "a "
    std::vector<std::int32_t> columns;             // of the words of the document
    std::int64_t unknown = 0, of_tokens = 0;
    Tokens tokens(alphabet_, text);
    for (;;) {
      const auto found = tokens.next();
      if (found == Tokens::Found::kEnd) break;
      if (found == Tokens::Found::kLineEnd) {
        end_row(columns, rows);
        columns.clear();
        continue;
      }
      const std::int32_t column = words_.find(tokens.word());
      if (column >= columns_) continue;
      if (column >= 0) {
        columns.push_back(column);
        ++of_tokens;
      } else if (tokens.counts()) {
        ++unknown;
        ++of_tokens;
      }
    }
    rows.lines = static_cast<std::int64_t>(lines);
    rows.unknown = {static_cast<double>(unknown), static_cast<double>(of_tokens)};
  }

 private:
  // Stop words are put behind the last column, so one look-up a word is enough.
  static Vocabulary joined(const Vocabulary& vocabulary, const Vocabulary& stop) {
    std::vector<std::string> words = vocabulary.words();
    for (const std::string& word : stop.words()) {
      if (vocabulary.find(word) < 0) words.push_back(word);
    }
    return Vocabulary(std::move(words));
  }

  static void end_row(std::vector<std::int32_t>& columns, RowChunk<T>& rows) {
    std::sort(columns.begin(), columns.end());
    for (auto at = columns.begin(); at != columns.end();) {
      const auto end = std::find_if(at, columns.end(), [&](std::int32_t c) { return c != *at; });
      rows.columns[rows.stored] = *at;
      rows.values[rows.stored] = static_cast<T>(end - at);
      ++rows.stored;
      at = end;
    }
    if (!columns.empty()) rows.max_column = std::max<std::int64_t>(rows.max_column, columns.back());
    rows.row_end[rows.rows++] = static_cast<std::int64_t>(rows.stored);
  }

  const Alphabet alphabet_;
  const std::int64_t columns_;
  const Vocabulary words_;
};

template <class T>
class DocumentsFormat : public TextFormat<T> {
 public:
  // A word outside of the vocabulary is reported as unknown unless it is a stop word or too short
  // to count.
  DocumentsFormat(std::shared_ptr<const Vocabulary> vocabulary, const Vocabulary& stop)
      : vocabulary_(std::move(vocabulary)),
        parser_(std::make_shared<Parser<T>>(*vocabulary_, stop)) {}
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource&) override { return parser_; }
  RowsDescription description() const override {
    return {vocabulary_->size(), vocabulary_->words()};
  }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const TextParser<T>> parser_;
};

template <class T>
std::unique_ptr<TextFormat<T>> open(const ReadOptions& options) {
  return std::make_unique<DocumentsFormat<T>>(options.vocabulary,
                                              stop_words(options.words.stop_words));
}

Match recognise(const FileStart& start) {
  return start.expect_documents ? Match::kFallback : Match::kNo;
}

}  // namespace

constinit const Reader kTextReader = {
    .name = "text",
    .title = "text",
    .recognised_by =
        "anything else, where documents are expected (`lda`); otherwise only "
        "`--format text`",
    .gives = "sparse, names",
    .recognise = recognise,
    .kind =
        TextKind{.open_float32 = open<float>, .open_float64 = open<double>, .counts_words = true},
};

}  // namespace meanwhile::data
