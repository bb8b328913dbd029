// The format of LDA-C: "entries word:count word:count ...", a document a line, words from 0. The
// first number says how many pairs follow and is checked. Empty lines are skipped.
#pragma once

#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

template <class T>
class LdacFormat : public TextFormat<T> {
 public:
  // The data has `n_features` columns at least.
  explicit LdacFormat(std::int64_t n_features);
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource&) override { return parser_; }
  RowsDescription description() const override { return {n_features_, {}}; }

 private:
  std::int64_t n_features_;
  std::shared_ptr<const TextParser<T>> parser_;
};

}  // namespace meanwhile::data
