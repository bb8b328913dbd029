// The text format of LIBSVM and SVMlight: "label index:value index:value ... # comment", a row a
// line, indices from 1 and strictly increasing. "qid:" is skipped, explicit zeros are kept.
#pragma once

#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

template <class T>
class LibsvmFormat : public TextFormat<T> {
 public:
  // The data has `n_features` columns at least.
  explicit LibsvmFormat(std::int64_t n_features);
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override;
  RowsDescription description() const override { return {n_features_, {}}; }

 private:
  std::int64_t n_features_;
  std::shared_ptr<const TextParser<T>> parser_;
};

}  // namespace meanwhile::data
