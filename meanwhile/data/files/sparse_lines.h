// The common part of text formats of sparse rows without a header: a row is a line, and one parser
// reads all files.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

// THROWS BadText: the message, and where `at` lies in `text`.
template <class... Args>
[[noreturn]] void fail_at(std::string_view text, const char* at, fmt::format_string<Args...> format,
                          Args&&... args) {
  throw BadText{static_cast<std::size_t>(at - text.data()),
                fmt::format(format, std::forward<Args>(args)...)};
}

// `Parser<T>` is a TextParser<T> that can be made from nothing, and says whether columns have
// numbers from 1 in its files. Its name is its own: g++ 12 takes
// two formats whose parsers have one name for the same, also in unnamed namespaces.
template <template <class> class Parser, class T>
class SparseLinesFormat final : public TextFormat<T> {
 public:
  // The data has at least `n_features` columns.
  explicit SparseLinesFormat(std::int64_t n_features) : n_features_(n_features) {}
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource&) override { return parser_; }
  RowsDescription description() const override {
    return {n_features_, {}, nullptr, {}, Parser<T>::kCountsFromOne};
  }

 private:
  std::int64_t n_features_;
  std::shared_ptr<const TextParser<T>> parser_ = std::make_shared<Parser<T>>();
};

// For TextKind.
template <template <class> class Parser, class T>
std::unique_ptr<TextFormat<T>> open_sparse_lines(const ReadOptions& options) {
  return std::make_unique<SparseLinesFormat<Parser, T>>(options.n_features);
}

}  // namespace meanwhile::data
