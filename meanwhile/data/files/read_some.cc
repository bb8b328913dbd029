#include "meanwhile/data/files/read_some.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/files/append.h"
#include "meanwhile/data/files/npy.h"
#include "meanwhile/data/files/npy_header.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/row_checks.h"
#include "meanwhile/data/files/safetensors_data.h"
#include "meanwhile/data/files/text_formats.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;
using Keep = std::function<bool(std::int64_t)>;

template <class T>
SomeRows read_text(const std::vector<InputFile>& files, const ReadOptions& options,
                   const Keep& keep) {
  const auto format = text_format<T>(files.front(), options);
  FilterSink<T> sink(format->sparse(), keep);
  parse_text(text_inputs(files), *format, sink, options.threads);
  return sink.finish(format->description());
}

template <class M>
SomeRows read_files(const std::vector<InputFile>& files, const ReadOptions& options, Dataset data,
                    const Keep& keep) {
  FilterSink<typename M::Value> sink(kIsSparse<M>, keep);
  Appender appender;
  for (const InputFile& file : files) {
    if (&file != &files.front()) {
      data = {};  // before the next is read
      data = read_one(file, options);
    }
    appender.append(data, display_name(file.path), sink);
  }
  return sink.finish(appender.description());
}

// The checks one after the other, each on all rows: as read() makes them.
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
      // All of the columns are looked at, now that there is an error to report.
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
                                     const std::string& name, int threads) {
  const auto count = static_cast<std::int64_t>(ranges.size());
  base::ThreadPool pool(static_cast<int>(std::clamp<std::int64_t>(count, 1, threads)));
  try {
    pool.run(count, [&](std::int64_t i, int) {
      const RowRange range = ranges[static_cast<std::size_t>(i)];
      try {
        check_finite(data.x, range, name, 1, data.mapped);
      } catch (const Error& error) {
        throw BadRow{kValues, range.begin, error};
      }
    });
  } catch (const BadRow& bad) {  // of the lowest range with one
    return bad;
  }
  return std::nullopt;
}

}  // namespace

SomeRows read_some(const std::vector<InputFile>& files, const ReadOptions& options,
                   const Keep& keep) {
  SomeRows some;
  if (is_one_text(files)) {
    some = options.dtype == DType::kFloat32 ? read_text<float>(files, options, keep)
                                            : read_text<double>(files, options, keep);
  } else {
    Dataset data = read_one(files.front(), options);
    const Matrix first = data.x;
    some = std::visit(
        [&](const auto& m) {
          return read_files<std::decay_t<decltype(m)>>(files, options, std::move(data), keep);
        },
        first);
  }
  settle_columns(some.data, options, files);
  return some;
}

std::optional<Dataset> map_rows(const std::vector<InputFile>& files) {
  const InputFile& file = files.front();
  const bool npy = file.format == Format::kNpy;
  if (files.size() != 1 || !file.plain || (!npy && file.format != Format::kSafetensors)) {
    return std::nullopt;
  }
  const std::string name = display_name(file.path);
  const auto mapping = std::make_shared<const base::MappedFile>(file.path);
  const std::span<const std::byte> bytes = mapping->bytes();
  if (bytes.empty()) throw Error(ErrorKind::kInput, "{}: has no rows: it is empty", name);
  if (npy) {
    // What would be copied is not for this function; read_some says what is wrong with a header.
    try {
      const NpyHeader header = parse_npy_header(bytes);
      const bool floats = header.type == NpyType::kFloat32 || header.type == NpyType::kFloat64;
      if (header.fortran_order || !floats) return std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  Dataset data = npy ? read_npy(bytes, name, mapping, true) : map_safetensors(bytes, name, mapping);
  if (!data.mapped) return std::nullopt;
  return data;
}

std::optional<BadRow> find_bad_row(const Dataset& data, const std::vector<InputFile>& files,
                                   const std::vector<RowRange>& ranges, int threads) {
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
