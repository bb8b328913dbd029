// The columns of a table: fitted in training, kept in the model, and used again wherever the model
// meets rows, so that columns are found by their names and cells mean what they meant in training.
//
// A table is read in two steps. A reader turns cells into numbers: a category becomes the number of
// its level in order of first appearance, a missing cell becomes NaN. These rows are raw (levels.h
// holds what was counted meanwhile). When all rows are known, fit.h settles levels and fill values,
// and encode.h turns raw rows into the rows that learners take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"

namespace meanwhile::data {

inline constexpr std::size_t kMaxLevels = 100;  // of a category, unless the user says otherwise

enum class ColumnRole : std::uint8_t { kFeature, kLabel, kWeight, kIgnored };

enum class ColumnKind : std::uint8_t {
  kNumber,
  kBoolean,   // true, false, yes, no: 1 and 0
  kDate,      // ISO 8601: days since 1970-01-01, with a fraction where there is a time
  kCategory,  // a column for each level: 1 where the row has it, else 0
  kText,      // a column for each word: how often it occurs
};

// Treatment of rows that lack a value.
enum class Missing : std::uint8_t {
  kError,
  kDrop,       // training leaves them out
  kMean,       // numbers get the mean of their column; a category gets no level
  kMedian,     // the same with the median
  kIndicator,  // as kMean, and one more column says where a value was missing
};
std::vector<std::string> missing_names();
std::string to_string(Missing missing);
// THROWS Error(kUsage) that lists the names there are.
Missing parse_missing(const std::string& name);

struct Column {
  std::string name = {};  // empty: the files have no names
  ColumnRole role = ColumnRole::kFeature;
  ColumnKind kind = ColumnKind::kNumber;
  std::vector<std::string> levels = {};  // kCategory: sorted by bytes; kText: words
  bool other = false;                    // kCategory: rarer levels share one more column
  bool indicator = false;                // one more column is 1 where the value is missing
  std::optional<double> fill = {};       // numbers: in place of a missing value

  bool operator==(const Column&) const = default;
};

struct TableSchema {
  std::vector<Column> columns = {};  // of the files, in their order
  Missing missing = Missing::kError;
  // Where files hold no table: so many features without names, all numbers, and no `columns`.
  std::int64_t unnamed = 0;
  int ngrams = 1;  // kText: up to so many words in a row are a word, too

  // Weighting of encoded values (weigh.h): the first two are empty, or one for each encoded column.
  std::vector<double> scales = {};  // a value is divided by its scale
  std::vector<double> idf = {};     // a value is multiplied by it: the inverse document frequency
  bool normalize = false;           // the values of a row are divided by their Euclidean length

  bool operator==(const TableSchema&) const = default;
};

// Whether rows lack nothing and are used as they are: features are numbers, without weights.
bool is_plain(const TableSchema& schema);
bool has_names(const TableSchema& schema);
// Whether encoded rows are sparse: they have more than twice as many columns as features. A sparse
// entry takes the memory of two dense ones, and a row has about one entry for each feature.
bool is_sparse(const TableSchema& schema);

// The features in order.
std::vector<const Column*> features(const TableSchema& schema);
// The column of a role; null when there is none.
const Column* column_with(const TableSchema& schema, ColumnRole role);

// Encoded columns that a feature becomes, and their names: "carat", "cut=Ideal", "cut=(other)",
// "age=(missing)", words as they are. Numbers stand for columns without names.
std::int64_t encoded_width(const Column& column);
std::int64_t encoded_cols(const TableSchema& schema);
// Empty when the columns have no names.
std::vector<std::string> encoded_names(const TableSchema& schema);

base::Json to_json(const TableSchema& schema);
// THROWS Error(kInput) when `object` is no schema: models may come from anywhere.
TableSchema schema_from_json(const base::Json& object);

}  // namespace meanwhile::data
