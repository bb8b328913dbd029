// Rows of a matrix as documents.
#pragma once

#include <bit>
#include <cstdint>
#include <variant>

#include "meanwhile/base/error.h"
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
    if (count == 0) return;
    if (!(count > 0)) {
      throw base::Error(base::ErrorKind::kInput,
                        "row {}, column {}: found {}, but topics are of counts: 0 or more", row,
                        column, count);
    }
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

// A number that is the document's wherever it lies: FNV-1a of its words and counts.
template <class T>
std::uint64_t document_number(const Document<T>& document) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t bits) { hash = (hash ^ bits) * 0x100000001b3; };
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    add(static_cast<std::uint64_t>(document.words[i]));
    add(std::bit_cast<std::uint64_t>(static_cast<double>(document.counts[i])));
  }
  return hash;
}

}  // namespace meanwhile::learn::lda
