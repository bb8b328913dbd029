#include "meanwhile/data/table/encode.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/parallel.h"

namespace meanwhile::data {

template <class T>
RowEncoder<T>::RowEncoder(const TableSchema& schema, const TableCounts& counts)
    : sparse_(is_sparse(schema)),
      fills_(schema.missing != Missing::kError && schema.missing != Missing::kDrop) {
  for (const Column* column : features(schema)) {
    Cell& cell = columns_.emplace_back();
    cell.first = static_cast<std::int32_t>(cols_);
    cell.category = column->kind == ColumnKind::kCategory;
    if (column->fill) cell.fill = static_cast<T>(*column->fill);
    cols_ += encoded_width(*column);
    if (column->indicator) cell.missing = static_cast<std::int32_t>(cols_) - 1;
  }
  const auto all = features(schema);
  for (std::size_t c = 0; c < counts.categories.size(); ++c) {
    const Column& column = *all[counts.categories[c]];
    Cell& cell = columns_[counts.categories[c]];
    const LevelTable& raw = counts.levels[c];
    const auto others = column.other ? cell.first + static_cast<std::int32_t>(column.levels.size())
                                     : std::int32_t{-1};
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const std::string_view level = raw.level(i);
      const auto at = std::lower_bound(column.levels.begin(), column.levels.end(), level);
      const bool known = at != column.levels.end() && *at == level;
      cell.level_at.push_back(
          known ? cell.first + static_cast<std::int32_t>(at - column.levels.begin()) : others);
    }
  }
}

template <class T>
bool RowEncoder<T>::keeps_cells() const {
  return std::all_of(columns_.begin(), columns_.end(),
                     [](const Cell& cell) { return !cell.category && cell.missing < 0; });
}

template <class T>
bool RowEncoder<T>::is_incomplete(const T* row) const {
  if (fills_) return false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (row[i] != row[i]) return true;
  }
  return false;
}

template <class T>
std::size_t RowEncoder<T>::count(const T* row) const {
  if (is_incomplete(row)) return 0;
  std::size_t entries = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Cell& cell = columns_[i];
    const T value = row[i];
    const bool missing = value != value;
    if (cell.category) {
      entries += column_of_level(cell, value) >= 0;
    } else {
      entries += (missing ? cell.fill : value) != 0;
    }
    entries += missing && cell.missing >= 0;
  }
  return entries;
}

// An entry is written always and counted if it is not zero: which ones are zero, no processor can
// foresee.
template <class T>
std::size_t RowEncoder<T>::put(const T* row, std::int32_t* columns, T* values) const {
  if (is_incomplete(row)) return 0;
  std::size_t entries = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Cell& cell = columns_[i];
    const T value = row[i];
    const bool missing = value != value;
    if (cell.category) {
      const std::int32_t column = column_of_level(cell, value);
      columns[entries] = column;
      values[entries] = 1;
      entries += column >= 0;
    } else {
      const T number = missing ? cell.fill : value;
      columns[entries] = cell.first;
      values[entries] = number;
      entries += number != 0;
    }
    if (missing && cell.missing >= 0) {
      columns[entries] = cell.missing;
      values[entries++] = 1;
    }
  }
  return entries;
}

template <class T>
void RowEncoder<T>::put(const T* row, T* values) const {
  std::fill_n(values, static_cast<std::size_t>(cols_), T{0});
  if (is_incomplete(row)) return;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Cell& cell = columns_[i];
    const T value = row[i];
    const bool missing = value != value;
    if (cell.category) {
      const std::int32_t column = column_of_level(cell, value);
      if (column >= 0) values[column] = 1;
    } else {
      values[cell.first] = missing ? cell.fill : value;
    }
    if (missing && cell.missing >= 0) values[cell.missing] = 1;
  }
}

template class RowEncoder<float>;
template class RowEncoder<double>;

namespace {

// Rows are encoded, and their memory is given back, in pieces of some large pages.
constexpr std::int64_t kPieceBytes = std::int64_t{8} << 20;

template <class T>
class TableEncoding {
 public:
  TableEncoding(const Dense<T>& raw, const RowEncoder<T>& encoder, base::Threads threads)
      : raw_(raw),
        encoder_(encoder),
        piece_rows_(std::max<std::int64_t>(
            1, kPieceBytes / (raw.cols * static_cast<std::int64_t>(sizeof(T))))),
        pieces_((raw.rows + piece_rows_ - 1) / piece_rows_),
        pool_(threads.at_most(pieces_)) {}

  Matrix matrix(Dataset& owner) {
    if (encoder_.sparse()) return sparse(owner);
    return encoder_.keeps_cells() ? in_place() : dense(owner);
  }

  std::vector<std::int64_t> incomplete() {
    std::vector<std::vector<std::int64_t>> found(static_cast<std::size_t>(pieces_));
    for_rows([&](std::int64_t row, std::int64_t piece) {
      if (encoder_.is_incomplete(row_at(row)))
        found[static_cast<std::size_t>(piece)].push_back(row);
    });
    std::vector<std::int64_t> all;
    for (const auto& some : found) all.insert(all.end(), some.begin(), some.end());
    return all;
  }

 private:
  const T* row_at(std::int64_t row) const { return raw_.values + row * raw_.cols; }

  template <class Use>
  void for_rows(const Use& use, bool last = false) {
    pool_.run(pieces_, [&](std::int64_t piece, int) {
      const std::int64_t begin = piece * piece_rows_;
      const std::int64_t end = std::min(raw_.rows, begin + piece_rows_);
      for (std::int64_t row = begin; row < end; ++row) use(row, piece);
      if (!last) return;
      base::discard_pages(std::as_bytes(
          std::span(row_at(begin), static_cast<std::size_t>((end - begin) * raw_.cols))));
    });
  }

  void put_apart(std::int64_t row, std::int32_t* columns, T* values) const {
    std::vector<std::int32_t> some_columns(2 * encoder_.cells() + 1);
    std::vector<T> some_values(2 * encoder_.cells() + 1);
    const std::size_t count = encoder_.put(row_at(row), some_columns.data(), some_values.data());
    std::copy_n(some_columns.data(), count, columns);
    std::copy_n(some_values.data(), count, values);
  }

  Matrix sparse(Dataset& owner) {
    base::Buffer<std::int64_t> starts(static_cast<std::size_t>(raw_.rows) + 1);
    for_rows([&](std::int64_t row, std::int64_t) {
      starts[static_cast<std::size_t>(row) + 1] =
          static_cast<std::int64_t>(encoder_.count(row_at(row)));
    });
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    const auto stored = static_cast<std::size_t>(starts[starts.size() - 1]);
    base::Buffer<std::int32_t> columns(stored);
    base::Buffer<T> values(stored);
    for_rows(
        [&](std::int64_t row, std::int64_t) {
          const auto at = static_cast<std::size_t>(starts[static_cast<std::size_t>(row)]);
          // put() may write an entry more, and the next one may be another thread's.
          if ((row + 1) % piece_rows_ == 0 || row + 1 == raw_.rows) {
            put_apart(row, columns.data() + at, values.data() + at);
          } else {
            encoder_.put(row_at(row), columns.data() + at, values.data() + at);
          }
        },
        true);
    return Sparse<T>{own(owner, std::move(starts)).data(), own(owner, std::move(columns)).data(),
                     own(owner, std::move(values)).data(), raw_.rows, encoder_.cols()};
  }

  // Where every cell becomes one number, only rows that lack one change.
  Matrix in_place() {
    std::vector<T> encoded(static_cast<std::size_t>(raw_.cols) * static_cast<std::size_t>(pieces_));
    for_rows([&](std::int64_t row, std::int64_t piece) {
      T* const cells = const_cast<T*>(row_at(row));  // of a Buffer that is ours alone
      if (!std::any_of(cells, cells + raw_.cols, [](T cell) { return cell != cell; })) return;
      T* const mine = &encoded[static_cast<std::size_t>(piece * raw_.cols)];
      encoder_.put(cells, mine);
      std::copy_n(mine, raw_.cols, cells);
    });
    return raw_;
  }

  Matrix dense(Dataset& owner) {
    const std::int64_t cols = encoder_.cols();
    base::Buffer<T> values(static_cast<std::size_t>(raw_.rows * cols));
    for_rows([&](std::int64_t row,
                 std::int64_t) { encoder_.put(row_at(row), values.data() + row * cols); },
             true);
    return Dense<T>{own(owner, std::move(values)).data(), raw_.rows, cols};
  }

  const Dense<T> raw_;
  const RowEncoder<T>& encoder_;
  const std::int64_t piece_rows_, pieces_;
  base::ThreadPool pool_;
};

template <class T>
void encode_matrix(Dataset& data, const Dense<T>& raw, const TableSchema& schema,
                   const TableCounts& counts, base::Threads threads) {
  const RowEncoder<T> encoder(schema, counts);
  TableEncoding<T> encoding(raw, encoder, threads);
  const bool any_missing = std::any_of(counts.missing.begin(), counts.missing.end(),
                                       [](const MissingCells& cells) { return cells.count > 0; });
  if (any_missing && !encoder.fills()) data.incomplete = encoding.incomplete();
  data.x = encoding.matrix(data);
}

}  // namespace

Dataset encode(Dataset raw, const TableSchema& schema, const TableCounts& counts,
               base::Threads threads) {
  Dataset data = raw;
  data.feature_names = encoded_names(schema);
  data.table = std::make_shared<const TableSchema>(schema);
  const bool any_missing = std::any_of(counts.missing.begin(), counts.missing.end(),
                                       [](const MissingCells& cells) { return cells.count > 0; });
  if (is_plain(schema) && !any_missing) return data;
  if (const auto* floats = std::get_if<Dense<float>>(&raw.x)) {
    encode_matrix(data, *floats, schema, counts, threads);
  } else {
    encode_matrix(data, std::get<Dense<double>>(raw.x), schema, counts, threads);
  }
  return data;
}

}  // namespace meanwhile::data
