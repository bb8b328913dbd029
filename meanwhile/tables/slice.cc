// The rows of all shards' deltas are merged in the order of rows: each row gets the total of the
// shards that have it, once. A dense slice is changed in place; the pairs of a sparse one are
// written anew.
#include "meanwhile/tables/slice.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "meanwhile/exchange/order.h"

namespace meanwhile::tables {

using base::Error;
using base::ErrorKind;

namespace {

// A row of one shard, all values.
template <class T>
struct Term {
  int shard = 0;
  std::vector<T> values;
};

// The sum of those of `terms` that lie in `node`, in the first of them; their end.
template <class T>
std::size_t add_along_tree(std::span<Term<T>> terms, std::size_t begin, exchange::Range node) {
  std::size_t end = begin;
  while (end < terms.size() && terms[end].shard < node.end) ++end;
  if (end - begin < 2) return end;
  const auto [left, right] = exchange::children(node);
  const std::size_t middle = add_along_tree<T>(terms, begin, left);
  add_along_tree<T>(terms, middle, right);
  if (middle == begin || middle == end) return end;
  std::vector<T>& to = terms[begin].values;
  for (std::size_t c = 0; c < to.size(); ++c) to[c] = sum_of(to[c], terms[middle].values[c]);
  return end;
}

// The rows of a shard, one after another.
class Rows {
 public:
  Rows(const ShardRows& of, const Table& table) : shard_(of.shard), from_(of.rows), table_(table) {
    next();
  }
  int shard() const { return shard_; }
  bool ended() const { return ended_; }
  std::int64_t row() const { return row_; }

  template <class T>
  void take(std::vector<T>& to) {
    RowArena arena;
    Table dense = table_;
    dense.sparse = false;
    const RowValues values = get_row(from_, dense, arena);
    if (values.values == nullptr) {
      std::fill(to.begin(), to.end(), T{0});
    } else {
      std::memcpy(to.data(), values.values, to.size() * sizeof(T));
    }
    next();
  }

 private:
  void next() {
    if ((ended_ = from_.empty())) return;
    const std::int64_t before = row_;
    row_ = from_.get<std::int64_t>();
    if (row_ > before && row_ < table_.rows) return;
    throw Error(ErrorKind::kFailed, "a change of the table {} names row {} after {}", table_.name,
                row_, before);
  }

  const int shard_;
  transport::Unpacker from_;
  const Table& table_;
  std::int64_t row_ = -1;
  bool ended_ = false;
};

template <class T>
std::size_t words(std::size_t values) {
  return (values * sizeof(T) + 7) / 8;
}

template <class T>
data::Tensor tensor(const std::vector<std::int64_t>& values, std::vector<std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t n : shape) count *= static_cast<std::size_t>(n);
  return data::tensor_of<T>({reinterpret_cast<const T*>(values.data()), count}, std::move(shape));
}

}  // namespace

Slice::Slice(const Table& table, std::int64_t rows) : table_(table), rows_(rows) {
  if (table.sparse) {
    starts_.assign(static_cast<std::size_t>(rows) + 1, 0);
  } else {
    values_.assign((static_cast<std::size_t>(rows) * dense_row_bytes(table) + 7) / 8, 0);
  }
}

Slice::Slice(const Table& table, std::int64_t rows, const data::SafetensorsFile& file,
             const std::string& name)
    : table_(table), rows_(rows) {
  with_number(table.number, [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> values = file.tensor("values").as<T>();
    bool whole = static_cast<std::int64_t>(values.size()) == rows * table.width;
    if (table.sparse) {
      const auto starts = file.tensor("starts").as<std::int64_t>();
      const auto columns = file.tensor("columns").as<std::int32_t>();
      whole = std::ssize(starts) == rows + 1 && columns.size() == values.size() &&
              starts.front() == 0 && starts.back() == std::ssize(values) &&
              std::is_sorted(starts.begin(), starts.end()) &&
              std::all_of(columns.begin(), columns.end(),
                          [&](std::int32_t c) { return c >= 0 && c < table.width; });
      starts_.assign(starts.begin(), starts.end());
      columns_.assign(columns.begin(), columns.end());
    }
    if (!whole) {
      throw Error(ErrorKind::kInput, "{}: is no slice of {} rows of the table {}", name, rows,
                  table.name);
    }
    values_.resize(words<T>(values.size()));
    std::copy_n(std::as_bytes(values).begin(), values.size_bytes(),
                std::as_writable_bytes(std::span(values_)).begin());
  });
}

std::size_t Slice::bytes() const {
  return 8 * (values_.size() + starts_.size()) + 4 * columns_.size();
}

RowValues Slice::row(std::int64_t place) const {
  const auto* const values = reinterpret_cast<const std::byte*>(values_.data());
  const auto at = static_cast<std::size_t>(place);
  if (!table_.sparse) return {values + at * dense_row_bytes(table_), nullptr, table_.width};
  const auto begin = static_cast<std::size_t>(starts_[at]);
  return {values + begin * number_bytes(table_.number), columns_.data() + begin,
          static_cast<std::int32_t>(starts_[at + 1] - starts_[at])};
}

std::map<std::string, data::Tensor> Slice::tensors() const {
  return with_number(table_.number, [&](auto zero) -> std::map<std::string, data::Tensor> {
    using T = decltype(zero);
    if (!table_.sparse) return {{"values", tensor<T>(values_, {rows_, table_.width})}};
    return {{"starts", tensor<std::int64_t>(starts_, {std::ssize(starts_)})},
            {"columns", data::tensor_of<std::int32_t>(columns_, {std::ssize(columns_)})},
            {"values", tensor<T>(values_, {std::ssize(columns_)})}};
  });
}

void Slice::add(std::vector<ShardRows> added, int shards, const Slices& slices, int slice) {
  with_number(table_.number, [&](auto zero) {
    add_rows<decltype(zero)>(std::move(added), shards, slices, slice);
  });
}

template <class T>
void Slice::add_to_dense(std::int64_t place, std::span<const T> total) {
  T* const to = reinterpret_cast<T*>(values_.data()) + place * table_.width;
  for (std::size_t c = 0; c < total.size(); ++c) to[c] = sum_of(to[c], total[c]);
}

template <class T>
void Slice::add_rows(std::vector<ShardRows> added, int shards, const Slices& slices, int slice) {
  std::sort(added.begin(), added.end(),
            [](const ShardRows& a, const ShardRows& b) { return a.shard < b.shard; });
  std::vector<Rows> sources;
  sources.reserve(added.size());
  for (const ShardRows& of : added) sources.emplace_back(of, table_);

  std::vector<std::int64_t> starts, values;
  std::vector<std::int32_t> columns;
  std::vector<T> kept;  // of a sparse slice: its new values
  std::int64_t copied = 0;
  const auto copy_until = [&](std::int64_t place) {
    const auto from = static_cast<std::size_t>(copied), to = static_cast<std::size_t>(place);
    const auto begin = static_cast<std::size_t>(starts_[from]),
               end = static_cast<std::size_t>(starts_[to]);
    const std::int64_t moved = std::ssize(columns) - starts_[from];
    for (std::size_t i = from; i < to; ++i) starts.push_back(starts_[i] + moved);
    columns.insert(columns.end(), columns_.begin() + static_cast<std::ptrdiff_t>(begin),
                   columns_.begin() + static_cast<std::ptrdiff_t>(end));
    const T* const old = reinterpret_cast<const T*>(values_.data());
    kept.insert(kept.end(), old + begin, old + end);
    copied = place;
  };

  const auto width = static_cast<std::size_t>(table_.width);
  std::vector<Term<T>> terms;
  std::vector<T> before(width);
  for (;;) {
    std::optional<std::int64_t> row;
    for (const Rows& source : sources) {
      if (!source.ended() && (!row || source.row() < *row)) row = source.row();
    }
    if (!row) break;
    if (slices.slice_of(*row) != slice) {
      throw Error(ErrorKind::kFailed, "row {} of the table {} is not in slice {}", *row,
                  table_.name, slice);
    }
    std::size_t present = 0;
    for (Rows& source : sources) {
      if (source.ended() || source.row() != *row) continue;
      if (present == terms.size()) terms.push_back({0, std::vector<T>(width)});
      terms[present].shard = source.shard();
      source.take(terms[present++].values);
    }
    add_along_tree<T>(std::span(terms).first(present), 0, {0, shards});
    const std::vector<T>& total = terms.front().values;
    const std::int64_t place = slices.place_of(*row);
    if (!table_.sparse) {
      add_to_dense<T>(place, total);
    } else {
      copy_until(place);
      const RowValues old = this->row(place);
      std::fill(before.begin(), before.end(), T{0});
      for (std::int32_t i = 0; i < old.count; ++i) {
        before[static_cast<std::size_t>(old.columns[i])] =
            reinterpret_cast<const T*>(old.values)[i];
      }
      starts.push_back(std::ssize(columns));
      for (std::size_t c = 0; c < width; ++c) {
        const T sum = sum_of(before[c], total[c]);
        if (sum == T{0}) continue;
        columns.push_back(static_cast<std::int32_t>(c));
        kept.push_back(sum);
      }
      copied = place + 1;
    }
  }
  if (!table_.sparse) return;
  copy_until(rows_);
  starts.push_back(std::ssize(columns));
  values.resize(words<T>(kept.size()));
  if (!kept.empty()) std::memcpy(values.data(), kept.data(), kept.size() * sizeof(T));
  values_ = std::move(values);
  starts_ = std::move(starts);
  columns_ = std::move(columns);
}

}  // namespace meanwhile::tables
