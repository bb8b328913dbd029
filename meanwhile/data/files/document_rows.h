// Documents as rows of word counts.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meanwhile/data/text/document_source.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/tokens.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

// Counts the words of documents, one a line. Thread safety: immutable.
template <class T>
class DocumentRows {
 public:
  // A word outside of the vocabulary is reported as unknown unless it is a stop word or too short
  // to count. `ngrams`: up to so many words in a row are a word, too.
  DocumentRows(const Vocabulary& vocabulary, const Vocabulary& stop, int ngrams)
      : columns_(vocabulary.size()), ngrams_(ngrams), words_(joined(vocabulary, stop)) {}

  void count(std::string_view text, RowChunk<T>& rows) const {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    // "a "; every word ends at most `ngrams` runs.
    rows.clear(lines, (text.size() / 2 + 1) * static_cast<std::size_t>(ngrams_), true);
    std::vector<std::int32_t> columns;  // of the words of the document
    std::int64_t unknown = 0, of_tokens = 0;
    Tokens tokens(alphabet_, text);
    NGrams grams(ngrams_);
    for (;;) {
      const auto found = tokens.next();
      if (found == Tokens::Found::kEnd) break;
      if (found == Tokens::Found::kLineEnd) {
        end_row(columns, rows);
        columns.clear();
        grams.end_document();
        continue;
      }
      const std::int32_t column = words_.find(tokens.word());
      if (column >= columns_) continue;
      const bool counts = column >= 0 || tokens.counts();
      if (column >= 0) columns.push_back(column);
      unknown += column < 0 && counts;
      of_tokens += counts;
      if (!counts) continue;
      grams.add(tokens.word(), [&](std::string_view gram) {
        const std::int32_t of_gram = words_.find(gram);
        if (of_gram >= 0 && of_gram < columns_) columns.push_back(of_gram);
      });
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
  const int ngrams_;
  const Vocabulary words_;
};

// Rows of the documents of one file.
template <class T>
class DocumentParser : public TextParser<T> {
 public:
  // `source`: null where every line is a document.
  DocumentParser(std::shared_ptr<const DocumentRows<T>> rows,
                 std::shared_ptr<const DocumentSource> source)
      : rows_(std::move(rows)), source_(std::move(source)) {}

  std::size_t cut(std::string_view text) const override {
    return source_ ? source_->cut(text) : cut_at_line(text);
  }
  void parse(std::string_view text, RowChunk<T>& rows) const override {
    if (!source_) return rows_->count(text, rows);
    std::string documents;
    DocumentExtras extras;
    source_->extract(text, documents, extras);
    rows_->count(documents, rows);
    rows.lines = extras.lines;
    rows.labelled = !extras.labels.empty() || !extras.label_words.empty();
    rows.weighted = !extras.weights.empty();
    std::copy(extras.labels.begin(), extras.labels.end(), rows.labels.data());
    std::copy(extras.weights.begin(), extras.weights.end(), rows.weights.data());
    for (std::size_t i = 0; i < extras.label_words.size(); ++i) {
      rows.labels[i] = static_cast<double>(rows.words.index(extras.label_words[i]));
    }
  }

 private:
  const std::shared_ptr<const DocumentRows<T>> rows_;
  const std::shared_ptr<const DocumentSource> source_;
};

}  // namespace meanwhile::data
