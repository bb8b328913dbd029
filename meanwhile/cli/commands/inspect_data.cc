#include "meanwhile/cli/commands/inspect_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "meanwhile/job/run_record.h"

namespace meanwhile::cli {

using base::Json;

namespace {

constexpr std::int64_t kColumns = 8;   // described one by one
constexpr std::size_t kClasses = 100;  // counted one by one

struct Summary {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::int64_t count = 0;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    ++count;
  }
  void add_to(Json& json) const {
    json["min"] = least;
    json["max"] = most;
    json["mean"] = sum / static_cast<double>(count);
  }
};

std::vector<Summary> first_columns(const data::Matrix& x) {
  std::vector<Summary> columns(static_cast<std::size_t>(std::min(kColumns, data::cols(x))));
  std::visit(
      [&](const auto& m) {
        for (std::int64_t i = 0; i < m.rows; ++i) {
          const auto row = m.row(i);
          if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
            for (std::size_t j = 0; j < row.columns.size(); ++j) {
              const auto column = static_cast<std::size_t>(row.columns[j]);
              if (column >= columns.size()) break;
              columns[column].add(row.values[j]);
            }
          } else {
            for (std::size_t j = 0; j < columns.size(); ++j) columns[j].add(row[j]);
          }
        }
        for (Summary& column : columns) {
          if (column.count == m.rows) continue;
          column.add(0);  // what is not stored is zero
          column.count = m.rows;
        }
      },
      x);
  return columns;
}

Json describe_labels(const data::Dataset& data) {
  Json json;
  std::map<double, std::int64_t> counts;
  Summary summary;
  for (const double label : data.labels) {
    summary.add(label);
    if (counts.size() <= kClasses) ++counts[label];
  }
  if (counts.size() > kClasses) {
    summary.add_to(json);
    return json;
  }
  for (const auto& [label, count] : counts) {
    const auto index = static_cast<std::size_t>(label);
    const bool named = !data.class_names.empty() && index < data.class_names.size();
    json[named ? data.class_names[index] : fmt::format("{}", label)] = count;
  }
  return json;
}

}  // namespace

Json describe_data(const data::Dataset& data) {
  Json json = job::shape_json(data);
  if (!data.labels.empty()) json["labels"] = describe_labels(data);
  if (!data.weights.empty()) {
    Summary summary;
    for (const double weight : data.weights) summary.add(weight);
    summary.add_to(json["weights"]);
  }
  const std::vector<Summary> columns = first_columns(data.x);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    Json column;
    column["column"] = j < data.feature_names.size() ? Json(data.feature_names[j])
                                                     : Json(j + data.counts_from_one);
    columns[j].add_to(column);
    json["columns"].push_back(column);
  }
  return json;
}

}  // namespace meanwhile::cli
