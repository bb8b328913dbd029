#include "meanwhile/data/table/adapt.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/table/encode.h"
#include "meanwhile/data/table/weigh.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// Column j of the result is column from[j] of `m`, or zero where that is -1.
template <class T>
Matrix chosen(const Dense<T>& m, const std::vector<std::int64_t>& from, Dataset& owner) {
  const auto cols = static_cast<std::int64_t>(from.size());
  base::Buffer<T> values(static_cast<std::size_t>(m.rows * cols));
  for (std::int64_t i = 0; i < m.rows; ++i) {
    T* const row = values.data() + i * cols;
    for (std::size_t j = 0; j < from.size(); ++j) {
      row[j] = from[j] < 0 ? T{0} : m.values[i * m.cols + from[j]];
    }
  }
  return Dense<T>{own(owner, std::move(values)).data(), m.rows, cols};
}

template <class T>
Matrix chosen(const Sparse<T>& m, const std::vector<std::int64_t>& from, Dataset& owner) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(m.cols), -1);
  for (std::size_t j = 0; j < from.size(); ++j) {
    if (from[j] >= 0) to[static_cast<std::size_t>(from[j])] = static_cast<std::int32_t>(j);
  }
  base::Buffer<std::int64_t> starts(static_cast<std::size_t>(m.rows) + 1);
  const auto most = static_cast<std::size_t>(m.rows == 0 ? 0 : m.row_start[m.rows]);
  base::Buffer<std::int32_t> columns(most);
  base::Buffer<T> values(most);
  std::vector<std::pair<std::int32_t, T>> entries;
  std::size_t stored = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const auto row = m.row(i);
    entries.clear();
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      const std::int32_t column = to[static_cast<std::size_t>(row.columns[k])];
      if (column >= 0) entries.emplace_back(column, row.values[k]);
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [column, value] : entries) {
      columns[stored] = column;
      values[stored++] = value;
    }
    starts[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(stored);
  }
  return Sparse<T>{own(owner, std::move(starts)).data(), own(owner, std::move(columns)).data(),
                   own(owner, std::move(values)).data(), m.rows,
                   static_cast<std::int64_t>(from.size())};
}

// Encoded columns that may be absent from other data with the same feature: it has no row with that
// level, or none that lacks the value.
std::vector<bool> may_be_absent(const TableSchema& schema, const TableSchema* theirs) {
  std::vector<bool> absent;
  for (const Column* column : features(schema)) {
    const bool known =
        theirs != nullptr &&
        std::any_of(theirs->columns.begin(), theirs->columns.end(), [&](const Column& other) {
          return other.role == ColumnRole::kFeature && other.name == column->name &&
                 other.kind == column->kind;
        });
    const std::int64_t width = encoded_width(*column);
    for (std::int64_t i = 0; i < width; ++i) {
      const bool number = column->kind != ColumnKind::kCategory && i == 0;
      absent.push_back(known && !number);
    }
  }
  return absent;
}

Dataset by_names(Dataset data, const TableSchema& schema) {
  const std::vector<std::string> wanted = encoded_names(schema);
  if (data.feature_names == wanted) return data;
  std::unordered_map<std::string, std::int64_t> at;
  for (std::size_t i = 0; i < data.feature_names.size(); ++i) {
    at.emplace(data.feature_names[i], static_cast<std::int64_t>(i));
  }
  const std::vector<bool> absent = may_be_absent(schema, data.table.get());
  std::vector<std::int64_t> from;
  std::vector<std::string> lost;
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    const auto found = at.find(wanted[j]);
    from.push_back(found == at.end() ? -1 : found->second);
    if (found == at.end() && !absent[j] && lost.size() < 20) lost.push_back(wanted[j]);
  }
  if (!lost.empty()) {
    throw Error(ErrorKind::kInput, "lacks columns that the model was made from: {}",
                list_text(lost));
  }
  Dataset result = data;
  result.x = std::visit([&](const auto& m) { return chosen(m, from, result); }, data.x);
  result.feature_names = wanted;
  result.mapped = false;
  return result;
}

Dataset with_columns(Dataset data, const TableSchema& schema, base::Threads threads) {
  if (data.table && *data.table == schema) return data;
  if (!data.feature_names.empty() && has_names(schema)) return by_names(std::move(data), schema);
  const auto all = features(schema);
  const bool numbers = std::all_of(all.begin(), all.end(), [](const Column* column) {
    return column->kind != ColumnKind::kCategory;
  });
  const bool raw = !all.empty() && !is_plain(schema) && numbers && !is_sparse(data) &&
                   cols(data.x) == static_cast<std::int64_t>(all.size());
  if (!raw) return data;
  data.mapped = false;
  return encode(std::move(data), schema, {}, threads);
}

}  // namespace

Dataset adapt(Dataset data, const TableSchema& schema, base::Threads threads) {
  return weigh(with_columns(std::move(data), schema, threads), schema, threads);
}

}  // namespace meanwhile::data
