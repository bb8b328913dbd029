// The bag-of-words format of the UCI repository: three lines with the numbers of documents, words
// and entries, then lines "document word count", all counted from 1, a document's lines together
// and documents in increasing order. A document without lines is an empty row.
#pragma once

#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

template <class T>
class DocwordFormat : public TextFormat<T> {
 public:
  // The data has `n_features` columns at least.
  explicit DocwordFormat(std::int64_t n_features) : cols_(n_features) {}
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override;
  RowsDescription description() const override { return {cols_, {}}; }

 private:
  std::int64_t cols_;  // the most words of any file so far
};

}  // namespace meanwhile::data
