// The text formats by name.
#pragma once

#include <memory>
#include <vector>

#include "meanwhile/data/files/csv.h"
#include "meanwhile/data/files/docword.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/ldac.h"
#include "meanwhile/data/files/libsvm.h"
#include "meanwhile/data/text/documents.h"
#include "meanwhile/data/text/stop_words.h"

namespace meanwhile::data {

// The parser for files like `file`. REQUIRES: is_text(file.format); options.vocabulary is there for
// plain text.
template <class T>
std::unique_ptr<TextFormat<T>> text_format(const InputFile& file, ReadOptions options) {
  if (file.format == Format::kLibsvm) return std::make_unique<LibsvmFormat<T>>(options.n_features);
  if (file.format == Format::kDocword) {
    return std::make_unique<DocwordFormat<T>>(options.n_features);
  }
  if (file.format == Format::kLdac) return std::make_unique<LdacFormat<T>>(options.n_features);
  if (file.format == Format::kText) {
    return std::make_unique<DocumentsFormat<T>>(options.vocabulary,
                                                stop_words(options.words.stop_words));
  }
  return std::make_unique<CsvFormat<T>>(std::move(options));
}

inline std::vector<TextInput> text_inputs(const std::vector<InputFile>& files) {
  std::vector<TextInput> inputs;
  for (const InputFile& file : files) {
    auto opened = file.held ? std::make_shared<TextSource>(file.path, file.held) : file.opened;
    inputs.push_back({file.path, std::move(opened), {}});
  }
  return inputs;
}

}  // namespace meanwhile::data
