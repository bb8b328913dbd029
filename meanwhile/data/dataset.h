// A data set in memory or mapped from files: the matrix, weights, labels and names.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/threads.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/data/matrix.h"

namespace meanwhile::data {

struct TableSchema;  // table/schema.h

// Words of text that were looked up in a vocabulary, counted each time they occur.
struct UnknownWords {
  double tokens = 0;     // words that are not in the vocabulary
  double of_tokens = 0;  // all words
  void add(const UnknownWords& other) {
    tokens += other.tokens;
    of_tokens += other.of_tokens;
  }
  bool operator==(const UnknownWords&) const = default;
};

// Movable and cheap to copy: copies share the memory behind the views.
struct Dataset {
  Matrix x;
  std::span<const double> weights;       // one a row and >= 0, or empty: every row weighs 1
  std::span<const double> labels;        // one a row, or empty; with class_names, indices into them
  std::vector<std::string> class_names;  // present if labels were words
  std::vector<std::string> feature_names;  // one a column, or empty
  bool counts_from_one = false;            // the files number their columns from 1
  UnknownWords unknown;  // text only; counts of the whole data set on every worker
  // The columns of the files and what became of them; null where files hold no table. Columns of x
  // are those of encoded_names().
  std::shared_ptr<const TableSchema> table;
  std::vector<std::int64_t> incomplete;  // rows that lack a value, and are zeros; see ReadOptions
  std::vector<std::string> notes;        // what a user should know of how the data was read

  bool mapped = false;  // x lies in mapped files and may be released after use
  std::vector<std::shared_ptr<const void>> owners;  // keep alive the memory behind the views
};

// Moves `buffer` to the owners of `data` and returns a view of it.
template <class T>
std::span<const T> own(Dataset& data, base::Buffer<T> buffer) {
  auto owner = std::make_shared<const base::Buffer<T>>(std::move(buffer));
  const std::span<const T> view = owner->span();
  data.owners.push_back(std::move(owner));
  return view;
}

inline bool is_sparse(const Dataset& data) { return is_sparse(data.x); }

// Bytes of all arrays of the data set.
std::int64_t byte_size(const Dataset& data);

// Brings the pages of mapped data into memory, so that the first round does not wait for them.
void make_resident(const Dataset& data);

// SHA-256 of shape, type, values, weights and labels. The same rows have the same hash from every
// file format (given the same element type) and for every `threads`. digest.h defines it and
// computes it in parts.
std::string sha256(const Dataset& data, base::Threads threads);

// Makes one pass over all values. THROWS Error(kInput) with `name`, row and column (from 0) of the
// first value that is NaN or infinite. `mapped`: `x` lies in a mapped file, whose pages are
// released after use.
void check_finite(const Matrix& x, const std::string& name, base::Threads threads,
                  bool mapped = false);
// The same for the rows of `range`.
void check_finite(const Matrix& x, RowRange range, const std::string& name, base::Threads threads,
                  bool mapped = false);

}  // namespace meanwhile::data
