#include "meanwhile/data/table/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/list_text.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::size_t kMostShown = 10;  // columns or levels in one message

bool fills(Missing missing) { return missing != Missing::kError && missing != Missing::kDrop; }

void keep_levels(Column& column, const LevelTable& table, std::size_t max_levels) {
  std::vector<std::size_t> order(table.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() > max_levels) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (table.count(a) != table.count(b)) return table.count(a) > table.count(b);
      return table.level(a) < table.level(b);
    });
    order.resize(max_levels);
    column.other = true;
  }
  column.levels.clear();
  for (const std::size_t i : order) column.levels.emplace_back(table.level(i));
  std::sort(column.levels.begin(), column.levels.end());
}

// "age (177), cabin (687) and 3 more"
std::string shown_list(const std::vector<std::string>& items) {
  std::vector<std::string> some(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                   items.size(), kMostShown)));
  std::string text = list_text(some);
  if (items.size() > kMostShown) text += fmt::format(" and {} more", items.size() - kMostShown);
  return text;
}

std::vector<std::string> counted_missing(const TableSchema& schema, const TableCounts& counts) {
  std::vector<std::string> columns;
  for (std::size_t f = 0; f < counts.missing.size(); ++f) {
    if (counts.missing[f].count == 0) continue;
    columns.push_back(fmt::format("{} ({})", shown_name(schema, f), counts.missing[f].count));
  }
  return columns;
}

std::vector<std::string> dropped_notes(const TableCounts& counts, std::int64_t rows) {
  if (counts.dropped == 0) return {};
  return {fmt::format("{} of {} rows were left out, because they lack a value", counts.dropped,
                      rows + counts.dropped)};
}

}  // namespace

std::string shown_name(const TableSchema& schema, std::size_t feature) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    if (column.role != ColumnRole::kFeature || seen++ != feature) continue;
    return column.name.empty() ? fmt::format("{}", i) : column.name;
  }
  return fmt::format("{}", feature);
}

template <class T>
TableSchema fit(TableSchema schema, const TableCounts& counts, std::size_t max_levels,
                const RowPieces<T>& rows, const AddUp& add_up) {
  std::vector<Column*> all;
  for (Column& column : schema.columns) {
    if (column.role == ColumnRole::kFeature) all.push_back(&column);
  }
  for (std::size_t c = 0; c < counts.categories.size(); ++c) {
    keep_levels(*all[counts.categories[c]], counts.levels[c], max_levels);
  }
  if (!fills(schema.missing)) return schema;
  std::vector<std::size_t> numbers;
  for (std::size_t f = 0; f < all.size(); ++f) {
    all[f]->indicator = schema.missing == Missing::kIndicator && counts.missing[f].count > 0;
    if (all[f]->kind != ColumnKind::kCategory) numbers.push_back(f);
  }
  if (schema.missing == Missing::kMedian) {
    const auto medians = column_medians(rows, numbers, add_up);
    for (std::size_t i = 0; i < numbers.size(); ++i) all[numbers[i]]->fill = medians[i];
  } else {
    const auto means = column_means(rows, numbers, add_up);
    for (std::size_t i = 0; i < numbers.size(); ++i) all[numbers[i]]->fill = means[i].mean;
  }
  return schema;
}

template TableSchema fit(TableSchema, const TableCounts&, std::size_t, const RowPieces<float>&,
                         const AddUp&);
template TableSchema fit(TableSchema, const TableCounts&, std::size_t, const RowPieces<double>&,
                         const AddUp&);

void check_missing(const TableSchema& read, const TableCounts& counts, std::int64_t rows) {
  if (read.missing == Missing::kDrop) {
    if (rows == 0 && counts.dropped > 0) {
      throw Error(ErrorKind::kInput, "every row lacks a value; no row is left");
    }
    return;
  }
  if (counts.missing_labels.count > 0) {
    throw Error(ErrorKind::kInput,
                "the label is missing in {} of {} rows, the first is row {} (counted from 0); use "
                "`missing` drop to leave such rows out",
                counts.missing_labels.count, rows, counts.missing_labels.first_row);
  }
  if (read.missing != Missing::kError) return;
  const auto columns = counted_missing(read, counts);
  if (columns.empty()) return;
  std::int64_t first = -1;
  for (const MissingCells& cells : counts.missing) {
    if (cells.count > 0 && (first < 0 || cells.first_row < first)) first = cells.first_row;
  }
  throw Error(
      ErrorKind::kInput,
      "values are missing in {} of {} columns: {}, the first in row {} (counted from 0); use "
      "`missing` drop, mean, median or indicator, or `ignore_column`",
      columns.size(), counts.missing.size(), shown_list(columns), first);
}

std::vector<std::string> training_notes(const TableSchema& schema, const TableCounts& counts,
                                        std::int64_t rows) {
  std::vector<std::string> notes = dropped_notes(counts, rows);
  if (fills(schema.missing)) {
    const auto columns = counted_missing(schema, counts);
    if (!columns.empty()) {
      notes.push_back(
          fmt::format("missing numbers got the {} of their column, missing categories no level: {}",
                      schema.missing == Missing::kMedian ? "median" : "mean", shown_list(columns)));
    }
  }
  const auto all = features(schema);
  std::vector<std::string> merged;
  for (std::size_t c = 0; c < counts.categories.size(); ++c) {
    const Column& column = *all[counts.categories[c]];
    if (!column.other) continue;
    merged.push_back(fmt::format("{} ({} of {} kept)", shown_name(schema, counts.categories[c]),
                                 column.levels.size(), counts.levels[c].size()));
  }
  if (!merged.empty()) {
    notes.push_back(fmt::format("rare levels became one, 'other': {}; see {}", shown_list(merged),
                                base::parameter("max_levels")));
  }
  return notes;
}

std::vector<std::string> matching_notes(const TableSchema& schema, const TableCounts& counts,
                                        std::int64_t rows, std::int64_t incomplete) {
  std::vector<std::string> notes = dropped_notes(counts, rows);
  if (incomplete > 0) {
    notes.push_back(
        fmt::format("{} a value that the model needs: {}",
                    incomplete == 1 ? "1 row lacks" : fmt::format("{} rows lack", incomplete),
                    shown_list(counted_missing(schema, counts))));
  }
  const auto all = features(schema);
  std::vector<std::string> unseen;
  for (std::size_t c = 0; c < counts.categories.size(); ++c) {
    const Column& column = *all[counts.categories[c]];
    if (column.other) continue;
    std::int64_t cells = 0;
    std::string example;
    for (std::size_t i = 0; i < counts.levels[c].size(); ++i) {
      const std::string level(counts.levels[c].level(i));
      if (std::binary_search(column.levels.begin(), column.levels.end(), level)) continue;
      if (example.empty()) example = level;
      cells += counts.levels[c].count(i);
    }
    if (cells == 0) continue;
    unseen.push_back(fmt::format("{} ({} rows, such as '{}')",
                                 shown_name(schema, counts.categories[c]), cells, example));
  }
  if (!unseen.empty()) {
    notes.push_back(
        fmt::format("levels that training did not see count nothing: {}", shown_list(unseen)));
  }
  return notes;
}

}  // namespace meanwhile::data
