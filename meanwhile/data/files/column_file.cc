#include "meanwhile/data/files/column_file.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/reader.h"
#include "meanwhile/data/files/row_checks.h"
#include "meanwhile/data/table/cell.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/row_chunk.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

bool as_number(std::string_view text, double& value) {
  const char* const end = text.data() + text.size();
  return !text.empty() && detail::from_chars(text.data(), end, value) == end;
}

std::vector<double> column_of(const Dataset& data) {
  if (is_sparse(data.x) || cols(data.x) != 1) {
    throw Error(ErrorKind::kInput, "has {} columns, expected one", cols(data.x));
  }
  return std::visit([](const auto& m) { return std::vector<double>(m.values, m.values + m.rows); },
                    data.x);
}

// Lines without the blanks around them. Blank lines at the end do not count.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

ColumnFile parse_lines(std::string_view text) {
  std::vector<std::string_view> lines = lines_of(text);
  std::vector<double> numbers(lines.size());
  std::size_t words = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) words += !as_number(lines[i], numbers[i]);
  double ignored = 0;
  if (words == 1 && lines.size() > 1 && !as_number(lines.front(), ignored)) {
    numbers.erase(numbers.begin());
    return {std::move(numbers), {}};
  }
  if (words == 0) return {std::move(numbers), {}};
  WordTable table;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_missing(lines[i]) || !is_utf8(lines[i])) {
      throw Error(ErrorKind::kInput, "line {}: found {}, expected a number or a word", i + 1,
                  in_quotes(lines[i]));
    }
    numbers[i] = static_cast<double>(table.index(lines[i]));
  }
  return {std::move(numbers), table.words()};
}

// The values of the rows that are held here.
base::Buffer<double> held(const std::vector<double>& values, std::span<const RowRange> rows) {
  std::int64_t count = 0;
  for (const RowRange& range : rows) count += range.end - range.begin;
  base::Buffer<double> found(static_cast<std::size_t>(count));
  double* to = found.data();
  for (const RowRange& range : rows) {
    to = std::copy(values.begin() + range.begin, values.begin() + range.end, to);
  }
  return found;
}

ColumnFile column_for(const std::filesystem::path& path, std::int64_t all) {
  ColumnFile column = read_column(path);
  if (static_cast<std::int64_t>(column.values.size()) != all) {
    throw Error(ErrorKind::kInput, "{}: has {} values, but the data has {} rows", path.string(),
                column.values.size(), all);
  }
  return column;
}

}  // namespace

ColumnFile read_column(const std::filesystem::path& path) {
  ReadOptions options;
  options.dtype = DType::kFloat64;
  const InputFile file = find_inputs({path}, options).front();
  try {
    if (const BinaryKind* const binary = file.reader->binary()) {
      const BinaryFile contents = open_binary(file, options);
      return {column_of(binary->read(contents, options)), {}};
    }
    if (file.reader->columnar() != nullptr) {
      throw Error(ErrorKind::kUsage, "is {}; give NPY, IDX or text, a value a line",
                  file.reader->title);
    }
    const auto source = file.opened ? file.opened : std::make_shared<TextSource>(path);
    const auto bytes = source->rest();
    return parse_lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (Error& error) {
    if (std::string_view(error.what()).starts_with(display_name(path))) throw;
    throw error.in(display_name(path));
  }
}

void attach_columns(Dataset& data, std::span<const RowRange> rows, std::int64_t all,
                    const ReadOptions& options) {
  if (options.labels.empty() && options.weights.empty()) return;
  if (options.missing == Missing::kDrop) {
    throw Error(ErrorKind::kUsage,
                "{}: rows that are left out would lose their labels; give the labels in a column",
                base::parameter("missing"));
  }
  if (!options.labels.empty() && options.want_labels) {
    if (!data.labels.empty() || !data.class_names.empty()) {
      throw Error(ErrorKind::kUsage, "{}: the data has labels of its own",
                  base::parameter("labels"));
    }
    ColumnFile column = column_for(options.labels, all);
    for (std::size_t i = 0; i < column.values.size(); ++i) {
      check_label(i, column.values[i], column.names.size());
    }
    data.labels = own(data, held(column.values, rows));
    data.class_names = std::move(column.names);
  }
  if (!options.weights.empty() && options.want_labels) {
    if (!data.weights.empty()) {
      throw Error(ErrorKind::kUsage, "{}: the data has weights of its own",
                  base::parameter("weights"));
    }
    const ColumnFile column = column_for(options.weights, all);
    if (!column.names.empty()) {
      throw Error(ErrorKind::kInput, "{}: holds words, expected weights", options.weights.string());
    }
    for (std::size_t i = 0; i < column.values.size(); ++i) check_weight(i, column.values[i]);
    data.weights = own(data, held(column.values, rows));
  }
}

}  // namespace meanwhile::data
