// Plain text: a document a line, counted into a sparse row with a column for each word of a
// vocabulary. Every line is a document, an empty one, too. See tokens.h for what a word is.
#pragma once

#include <memory>

#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

template <class T>
class DocumentsFormat : public TextFormat<T> {
 public:
  // `stop` are words that nobody misses: those not in the vocabulary that are neither among them
  // nor too short to count are reported as unknown.
  DocumentsFormat(std::shared_ptr<const Vocabulary> vocabulary, const Vocabulary& stop);
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource&) override { return parser_; }
  RowsDescription description() const override {
    return {vocabulary_->size(), vocabulary_->words()};
  }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const TextParser<T>> parser_;
};

}  // namespace meanwhile::data
