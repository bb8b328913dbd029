// A trained model as a formula of the cells of one row: all that other programs need to predict as
// this one does.
//
//   cells of a table -> encoded columns -> weighed -> margins or distances -> label
//
// Cells are numbers and words. A word becomes a column for each level; a missing cell becomes the
// fill value of its column, no level, or makes the row one without an answer (`fills`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::exports {

struct Cell {
  std::string name;                                   // of the column of the table
  data::ColumnKind kind = data::ColumnKind::kNumber;  // never kText
  std::vector<std::string> levels = {};               // of a category, sorted by bytes
  bool other = false, indicator = false;              // as in data::Column
  double fill = 0;                                    // of a number, where the scorer fills
  std::size_t first = 0;                              // encoded column

  bool is_word() const { return kind == data::ColumnKind::kCategory; }
  std::size_t width() const { return (is_word() ? levels.size() + other : 1) + indicator; }
};

enum class Task {
  kNumber,          // the margin itself
  kTwoClasses,      // the second class where the margin is above 0
  kSeveralClasses,  // the class with the largest margin, the first of equals
  kClusters,        // the cluster with the nearest centre, the first of equals
};

struct Scorer {
  std::string learner;
  Task task = Task::kNumber;
  std::vector<Cell> cells;
  std::vector<std::string> table_names = {};  // of all columns that training saw, features or not
  bool named = false;                         // the columns have names of their own, not numbers
  bool fills = false;           // missing cells have a value; otherwise such a row has no answer
  std::size_t cols = 0;         // encoded
  std::vector<double> factors;  // an encoded value is multiplied by it; one a column
  bool normalize = false;       // then the row is divided by its length

  std::size_t outputs = 1;        // margins or distances
  std::vector<double> weights;    // cols x outputs; of clusters: outputs x cols, the centres
  std::vector<double> intercept;  // outputs; none of clusters
  bool cosine = false;            // of clusters: distances are 1 - cosine, else Euclidean
  bool logistic = false;          // margins have probabilities
  bool softmax = false;
  std::vector<std::string> class_names;  // as the program writes them, where classes are words
  std::vector<double> class_values;      // else

  std::size_t classes() const { return std::max(class_names.size(), class_values.size()); }
  bool has_words() const;
  bool is_weighed() const;  // a factor is not 1
  // The part of output o that a state of a cell makes, unless the row is normalised or distances
  // are cosines: encoded values times weights, or squared differences from a centre.
  // `values`: width() of them.
  double part(const Cell& cell, const std::vector<double>& values, std::size_t o) const;
  // Encoded values of a word's states: level i; then the level that training did not see; then a
  // missing cell.
  std::vector<std::vector<double>> states(const Cell& cell) const;
};

// THROWS Error(kUsage) where there is no such formula, with the reason; Error(kInput) for a damaged
// model. `file`: learn::open_model() has opened it.
Scorer scorer_of(const data::SafetensorsFile& file);

}  // namespace meanwhile::exports
