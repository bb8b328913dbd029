// Rows are filled in blocks, a column of a block at a time: a block of rows stays in the cache
// while its columns are scattered over it. A missing cell becomes NaN; what is odd in a block is
// sorted out after it was written, so that the loops over good cells have no branches.
#include "meanwhile/data/files/arrow/cells.h"

#include <arrow/array.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/arrow/columns.h"
#include "meanwhile/data/files/table_layout.h"
#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::int64_t kRowsOfBlock = 64;

// The column of a batch, which holds the fields `used` of a schema.
std::shared_ptr<arrow::Array> column_at(const arrow::RecordBatch& batch,
                                        const std::vector<int>& used,
                                        const std::vector<int>& path) {
  const auto at = std::lower_bound(used.begin(), used.end(), path.front()) - used.begin();
  auto array = batch.column(static_cast<int>(at));
  for (std::size_t i = 1; i < path.size(); ++i) {
    // A structure that is null has no values.
    auto child = static_cast<const arrow::StructArray&>(*array).GetFlattenedField(path[i]);
    if (!child.ok()) throw Error(ErrorKind::kInput, "cannot be read: {}", child.status().message());
    array = *std::move(child);
  }
  return array;
}

// The rows of one batch.
template <class T>
class BatchRows {
 public:
  BatchRows(const ArrowLayout& layout, const TableRows<T>& table, const arrow::RecordBatch& batch,
            RowChunk<T>& rows, std::size_t& now)
      : now_(now),
        layout_(layout),
        table_(table),
        width_(features(layout.table).size()),
        rows_(rows),
        row_(table.begin(rows, static_cast<std::size_t>(batch.num_rows()),
                         static_cast<std::size_t>(batch.num_rows()) * width_)) {
    const std::vector<int> used = layout.used();
    for (now_ = 0; now_ < layout.fields.size(); ++now_) {
      const TableField& field = layout.fields[now_];
      if (field.role == ColumnRole::kIgnored) continue;
      add(field, *arrays_.emplace_back(column_at(batch, used, layout.paths[now_])));
    }
  }

  // Rows `begin` to `begin` + `count`, at most kRowsOfBlock. THROWS BadCell.
  void put(std::int64_t begin, std::int64_t count) {
    T* const block = row_.cells;  // rows that are left out are closed up below
    incomplete_.fill(false);
    const auto put_column = [&](auto& column) {
      now_ = column.number;
      const std::uint32_t feature = layout_.fields[now_].feature;
      column.cells.put(begin, count, block + feature, width_);
    };
    for (Numbers& column : numbers_) put_column(column);
    for (Levels& column : levels_) put_column(column);
    if (any_odd(block, static_cast<std::size_t>(count) * width_)) look(begin, count, block);
    now_ = label_column_;
    if (label_) label_->put(begin, count, labels_.data(), 1);
    now_ = weight_column_;
    if (weight_) weight_->put(begin, count, weights_.data(), 1);

    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const T* const cells = block + at * width_;
      if (row_.cells != cells) std::copy_n(cells, width_, row_.cells);
      row_.incomplete = incomplete_[at];
      if (label_ || words_ != nullptr) put_label(begin + i, labels_[at]);
      if (weight_) put_weight(begin + i, weights_[at]);
      table_.end(row_);
    }
  }

  void finish() { table_.finish(row_); }

 private:
  struct Numbers {
    std::size_t number;  // of the column
    NumberCells<T> cells;
  };
  struct Levels {
    std::size_t number;
    LevelCells<T> cells;
  };

  void add(const TableField& field, const arrow::Array& array) {
    if (field.role == ColumnRole::kLabel) {
      label_column_ = now_;
      if (layout_.label_is_word) {
        words_ = &array;
      } else {
        label_.emplace(array, ColumnKind::kNumber);
      }
    } else if (field.role == ColumnRole::kWeight) {
      weight_column_ = now_;
      weight_.emplace(array, ColumnKind::kNumber);
    } else if (field.kind == ColumnKind::kCategory) {
      levels_.push_back({now_, LevelCells<T>(array, table_.levels(row_, field.feature))});
    } else {
      numbers_.push_back({now_, NumberCells<T>(array, field.kind)});
    }
  }

  // Whether a cell is missing or infinite.
  static bool any_odd(const T* cells, std::size_t count) {
    bool odd = false;
    for (std::size_t i = 0; i < count; ++i) {
      odd |= !(std::abs(cells[i]) <= std::numeric_limits<T>::max());
    }
    return odd;
  }

  // Counts the cells of the block that are missing, and refuses those that are infinite.
  void look(std::int64_t begin, std::int64_t count, const T* block) {
    for (now_ = 0; now_ < layout_.fields.size(); ++now_) {
      if (layout_.fields[now_].role != ColumnRole::kFeature) continue;
      const std::uint32_t feature = layout_.fields[now_].feature;
      const T* cell = block + feature;
      for (std::int64_t i = 0; i < count; ++i, cell += width_) {
        if (std::abs(*cell) <= std::numeric_limits<T>::max()) continue;
        if (!std::isnan(*cell)) {
          throw BadCell{begin + i,
                        "found a number that is infinite, or too large for this type; `dtype` "
                        "float64 holds larger ones"};
        }
        incomplete_[static_cast<std::size_t>(i)] = true;
        MissingCells& missing = rows_.table.missing[feature];
        if (missing.count++ == 0) missing.first_row = static_cast<std::int64_t>(rows_.rows) + i;
      }
    }
  }

  void put_label(std::int64_t i, double number) {
    now_ = label_column_;
    if (label_) {
      if (std::isinf(number)) throw BadCell{i, "found an infinite label"};
      rows_.labels[rows_.rows] = number;
      if (std::isnan(number)) table_.put_missing_label(row_);
      return;
    }
    row_.label = word_in(*words_, i, row_.scratch);
    if (row_.label.empty()) return table_.put_missing_label(row_);
    if (is_utf8(row_.label)) return;
    throw BadCell{i, fmt::format("found the label {}, expected UTF-8", in_quotes(row_.label))};
  }

  void put_weight(std::int64_t i, double weight) {
    now_ = weight_column_;
    if (!(weight >= 0 && std::isfinite(weight))) {
      throw BadCell{i, fmt::format("found the weight {}, expected 0 or more", weight)};
    }
    rows_.weights[rows_.rows] = weight;
  }

  std::size_t& now_;  // the column that is being read
  const ArrowLayout& layout_;
  const TableRows<T>& table_;
  const std::size_t width_;
  RowChunk<T>& rows_;
  typename TableRows<T>::Row row_;
  std::vector<std::shared_ptr<arrow::Array>> arrays_;
  std::vector<Numbers> numbers_;
  std::vector<Levels> levels_;
  std::optional<NumberCells<double>> label_, weight_;
  const arrow::Array* words_ = nullptr;  // labels
  std::size_t label_column_ = 0, weight_column_ = 0;
  std::array<bool, kRowsOfBlock> incomplete_;
  std::array<double, kRowsOfBlock> labels_, weights_;
};

}  // namespace

template <class T>
ArrowRows<T>::ArrowRows(ArrowLayout layout, bool drop)
    : layout_(std::move(layout)),
      table_(
          layout_.table,
          [&] {
            typename TableRows<T>::Roles roles;
            for (const TableField& field : layout_.fields) {
              roles.labelled |= field.role == ColumnRole::kLabel;
              roles.weighted |= field.role == ColumnRole::kWeight;
            }
            roles.label_is_word = layout_.label_is_word;
            return roles;
          }(),
          drop) {}

template <class T>
void ArrowRows<T>::fill(const arrow::RecordBatch& batch, std::int64_t first,
                        RowChunk<T>& rows) const {
  std::size_t now = 0;
  try {
    BatchRows<T> filled(layout_, table_, batch, rows, now);
    for (std::int64_t begin = 0; begin < batch.num_rows(); begin += kRowsOfBlock) {
      filled.put(begin, std::min(kRowsOfBlock, batch.num_rows() - begin));
    }
    filled.finish();
  } catch (const BadCell& cell) {
    const std::string row =
        cell.row < 0 ? "" : fmt::format("row {} (counted from 0), ", first + cell.row);
    throw Error(ErrorKind::kInput, "{}column {}: {}", row, layout_.names[now], cell.message);
  }
}

template class ArrowRows<float>;
template class ArrowRows<double>;

std::vector<std::string> coarse_notes(const arrow::RecordBatch& batch, const ArrowLayout& layout) {
  const std::vector<int> used = layout.used();
  const std::int64_t count = std::min(batch.num_rows(), kLookedAtRecords);
  std::vector<double> values(static_cast<std::size_t>(count));
  std::vector<std::string> coarse;
  for (std::size_t i = 0; i < layout.fields.size(); ++i) {
    const bool number = layout.fields[i].role == ColumnRole::kFeature &&
                        layout.fields[i].kind == ColumnKind::kNumber;
    if (!number || !arrow::is_numeric(layout.types[i]->id())) continue;
    const auto array = column_at(batch, used, layout.paths[i]);
    NumberCells<double>(*array, ColumnKind::kNumber).put(0, count, values.data(), 1);
    CellCounts cells;
    for (const double value : values) {
      if (!std::isnan(value)) cells.add_number(value);
    }
    if (is_too_coarse(cells)) coarse.push_back(layout.names[i]);
  }
  if (coarse.empty()) return {};
  return {coarse_note(coarse)};
}

}  // namespace meanwhile::data
