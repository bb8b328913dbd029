#include "meanwhile/data/text/match.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

template <class T>
Sparse<T> renumber(const Sparse<T>& m, const std::vector<std::int32_t>& column_of,
                   std::int64_t cols, Dataset& owner) {
  base::Buffer<std::int64_t> row_start(static_cast<std::size_t>(m.rows) + 1);
  const auto most = static_cast<std::size_t>(m.row_start[m.rows]);
  base::Buffer<std::int32_t> columns(most);
  base::Buffer<T> values(most);
  std::size_t stored = 0;
  row_start[0] = 0;
  std::vector<std::pair<std::int32_t, T>> entries;  // of a row
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const auto row = m.row(i);
    entries.clear();
    for (std::size_t j = 0; j < row.columns.size(); ++j) {
      const std::int32_t column = column_of[static_cast<std::size_t>(row.columns[j])];
      owner.unknown.of_tokens += static_cast<double>(row.values[j]);
      if (column < 0) {
        owner.unknown.tokens += static_cast<double>(row.values[j]);
      } else {
        entries.emplace_back(column, row.values[j]);
      }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::size_t first = stored;
    for (const auto& [column, value] : entries) {
      if (stored > first && columns[stored - 1] == column) {
        values[stored - 1] += value;
        continue;
      }
      columns[stored] = column;
      values[stored++] = value;
    }
    row_start[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(stored);
  }
  columns.resize(stored);
  values.resize(stored);
  return {own(owner, std::move(row_start)).data(), own(owner, std::move(columns)).data(),
          own(owner, std::move(values)).data(), m.rows, cols};
}

}  // namespace

Dataset match_columns(const Dataset& data, const Vocabulary& to) {
  std::vector<std::int32_t> column_of;
  for (const std::string& name : data.feature_names) column_of.push_back(to.find(name));
  Dataset matched = data;
  matched.mapped = false;
  matched.feature_names = to.words();
  // Words that the first vocabulary had are looked up a second time, and counted once.
  matched.unknown.of_tokens = matched.unknown.tokens;
  std::visit(
      [&](const auto& m) {
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
          matched.x = renumber(m, column_of, to.size(), matched);
        } else {
          throw Error(
              ErrorKind::kInput,
              "columns can be matched by name in sparse data only, such as counts of words");
        }
      },
      data.x);
  return matched;
}

}  // namespace meanwhile::data
