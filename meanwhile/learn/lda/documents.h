// Rows of a matrix as documents.
#pragma once

#include <cstdint>
#include <variant>

#include "meanwhile/data/matrix.h"
#include "meanwhile/learn/lda/kernel.h"

namespace meanwhile::learn::lda {

// The words of row `row` that occur, and how often. Counts below 0 are left out: who takes data
// from a user has refused them before.
template <class T>
void read_document(const data::Matrix& x, std::int64_t row, Document<T>& document) {
  document.words.clear();
  document.counts.clear();
  document.tokens = 0;
  const auto put = [&](std::int64_t column, double count) {
    if (!(count > 0)) return;
    document.words.push_back(static_cast<std::int32_t>(column));
    document.counts.push_back(static_cast<T>(count));
    document.tokens += count;
  };
  std::visit(
      [&](const auto& m) {
        const auto values = m.row(row);
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
          for (std::size_t i = 0; i < values.columns.size(); ++i) {
            put(values.columns[i], static_cast<double>(values.values[i]));
          }
        } else {
          for (std::size_t j = 0; j < values.size(); ++j) {
            put(static_cast<std::int64_t>(j), static_cast<double>(values[j]));
          }
        }
      },
      x);
}

}  // namespace meanwhile::learn::lda
