#include "meanwhile/data/files/read_some.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/files/array_roles.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/reader.h"
#include "meanwhile/data/files/row_checks.h"
#include "meanwhile/data/files/row_source.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;
using Keep = std::function<bool(std::int64_t)>;

// The checks in the order in which read() makes them, each on all rows.
enum Check { kRows, kColumns, kWeights, kLabels, kValues };

template <class T>
std::optional<BadRow> find_bad_entry(const Sparse<T>& m, const std::vector<RowRange>& ranges,
                                     bool mapped) {
  const std::span row_start(m.row_start, static_cast<std::size_t>(m.rows) + 1);
  const std::span columns(m.columns, static_cast<std::size_t>(m.row_start[m.rows]));
  std::optional<BadRow> wide;
  for (const RowRange& range : ranges) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      try {
        if (check_row(row_start, columns, static_cast<std::size_t>(row)) < m.cols || wide) continue;
      } catch (const Error& error) {
        return BadRow{kRows, row, error};
      }
      // All columns are read, now that there is an error to report.
      wide = BadRow{kColumns, row,
                    Error(ErrorKind::kInput, "metadata cols = {}, but columns reach {}", m.cols,
                          *std::max_element(columns.begin(), columns.end()))};
    }
    if (!mapped) continue;
    const std::int64_t first = m.row_start[range.begin], last = m.row_start[range.end];
    base::release_mapped(std::as_bytes(
        columns.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first))));
  }
  return wide;
}
template <class T>
std::optional<BadRow> find_bad_entry(const Dense<T>&, const std::vector<RowRange>&, bool) {
  return std::nullopt;
}

template <class Look>
std::optional<BadRow> find_bad_number(int check, const std::vector<RowRange>& ranges,
                                      std::span<const double> numbers, const Look& look) {
  if (numbers.empty()) return std::nullopt;
  for (const RowRange& range : ranges) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      try {
        look(static_cast<std::size_t>(row), numbers[static_cast<std::size_t>(row)]);
      } catch (const Error& error) {
        return BadRow{check, row, error};
      }
    }
  }
  return std::nullopt;
}

std::optional<BadRow> find_bad_value(const Dataset& data, const std::vector<RowRange>& ranges,
                                     const std::string& name, base::Threads threads) {
  const auto count = static_cast<std::int64_t>(ranges.size());
  base::ThreadPool pool(threads.at_most(count));
  try {
    pool.run(count, [&](std::int64_t i, int) {
      const RowRange range = ranges[static_cast<std::size_t>(i)];
      try {
        check_finite(data.x, range, name, 1, data.mapped);
      } catch (const Error& error) {
        throw BadRow{kValues, range.begin, error};
      }
    });
  } catch (const BadRow& bad) {  // the one of the lowest range
    return bad;
  }
  return std::nullopt;
}

}  // namespace

SomeRows read_some(const std::vector<InputFile>& files, const ReadOptions& options,
                   const Keep& keep) {
  return std::visit(
      [&]<class T>(const std::unique_ptr<RowSource<T>>& rows) {
        FilterSink<T> sink(rows->sparse(), keep);
        return sink.finish(rows->pour(sink));
      },
      open_rows(files, options));
}

std::optional<Dataset> map_rows(const std::vector<InputFile>& files, const ReadOptions& options) {
  const InputFile& file = files.front();
  const BinaryKind* const binary = file.reader->binary();
  if (files.size() != 1 || !file.plain || binary == nullptr || binary->map == nullptr) {
    return std::nullopt;
  }
  if (file.reader->has_roles && has_array_roles(options)) return std::nullopt;
  return binary->map(open_binary(file, options));
}

std::optional<BadRow> find_bad_row(const Dataset& data, const std::vector<InputFile>& files,
                                   const std::vector<RowRange>& ranges, base::Threads threads) {
  const std::string name = display_name(files.front().path);
  auto bad =
      std::visit([&](const auto& m) { return find_bad_entry(m, ranges, data.mapped); }, data.x);
  if (!bad) bad = find_bad_number(kWeights, ranges, data.weights, check_weight);
  if (!bad) {
    bad = find_bad_number(kLabels, ranges, data.labels, [&](std::size_t row, double label) {
      check_label(row, label, data.class_names.size());
    });
  }
  if (bad) {
    bad->error.in(name);
    return bad;
  }
  return find_bad_value(data, ranges, name, threads);
}

}  // namespace meanwhile::data
