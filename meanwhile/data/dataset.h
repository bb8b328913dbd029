// A data set in memory or mapped from files: the matrix, and what else is known of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/data/matrix.h"

namespace meanwhile::data {

// Words of text that were looked up in a vocabulary, counted each time they occur.
struct UnknownWords {
  double tokens = 0;     // not in it
  double of_tokens = 0;  // all
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
  std::vector<std::string> class_names;  // when labels were words
  std::vector<std::string> feature_names;  // one a column, or empty
  UnknownWords unknown;                    // of text; of the whole data set on every node

  bool mapped = false;  // x lies in mapped files and may be released after use
  std::vector<std::shared_ptr<const void>> owners;  // keep alive what the views point into
};

// Gives `buffer` to `data` to keep, and returns the view of it.
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

// Has the pages of mapped data in memory, so that the first round does not wait for them.
void make_resident(const Dataset& data);

// SHA-256 of the data itself: shape, type, values, weights, labels; the same for the same rows
// whatever file format they came from (given the same element type), and whatever `threads` is. See
// digest.h, which defines it and computes it in parts.
std::string sha256(const Dataset& data, int threads);

// One pass over all values. `mapped`: give the pages back after use. THROWS Error(kInput) with
// `name`, row and column (from 0) of the first value that is NaN or infinite.
void check_finite(const Matrix& x, const std::string& name, int threads, bool mapped = false);
// The same of some rows.
void check_finite(const Matrix& x, RowRange range, const std::string& name, int threads,
                  bool mapped = false);

}  // namespace meanwhile::data
