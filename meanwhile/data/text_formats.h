// The text formats by name.
#pragma once

#include <memory>
#include <vector>

#include "meanwhile/data/csv.h"
#include "meanwhile/data/docword.h"
#include "meanwhile/data/input_files.h"
#include "meanwhile/data/libsvm.h"

namespace meanwhile::data {

// The parser for files like `file`. REQUIRES: is_text(file.format).
template <class T>
std::unique_ptr<TextFormat<T>> text_format(const InputFile& file, ReadOptions options) {
  if (file.format == Format::kLibsvm) return std::make_unique<LibsvmFormat<T>>(options.n_features);
  if (file.format == Format::kDocword) {
    return std::make_unique<DocwordFormat<T>>(options.n_features);
  }
  return std::make_unique<CsvFormat<T>>(std::move(options));
}

inline std::vector<TextInput> text_inputs(const std::vector<InputFile>& files) {
  std::vector<TextInput> inputs;
  for (const InputFile& file : files) inputs.push_back({file.path, file.opened, {}});
  return inputs;
}

}  // namespace meanwhile::data
