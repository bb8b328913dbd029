// A data set in memory or mapped from files: the matrix, and what else is known of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/data/matrix.h"

namespace meanwhile::data {

// Movable and cheap to copy: copies share the memory behind the views.
struct Dataset {
  Matrix x;
  std::span<const double> weights;  // one a row and >= 0, or empty: every row weighs 1
  std::span<const double> labels;   // one a row, or empty; with class_names, indices into them
  std::vector<std::string> class_names;    // when labels were words
  std::vector<std::string> feature_names;  // one a column, or empty

  bool mapped = false;  // x lies in mapped files and may be released after use
  std::vector<std::shared_ptr<const void>> owners;  // keep alive what the views point into
};

// Bytes of all arrays of the data set.
std::int64_t byte_size(const Dataset& data);

// SHA-256 of the data itself: shape, type, values, weights, labels; the same for the same rows
// whatever file format they came from (given the same element type). Runs on `threads` threads.
std::string sha256(const Dataset& data, int threads);

}  // namespace meanwhile::data
