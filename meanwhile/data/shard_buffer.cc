#include "meanwhile/data/shard_buffer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/data/digest.h"

namespace meanwhile::data {

using base::Error;
using base::ErrorKind;

namespace {

template <class T>
void copy(base::Buffer<T>& to, std::int64_t at, const T* from, std::int64_t count) {
  if (count > 0) std::memcpy(to.data() + at, from, static_cast<std::size_t>(count) * sizeof(T));
}

// Learners index with labels where classes have names; otherwise a label is a number.
bool is_label(double label, std::size_t classes) {
  if (classes == 0) return std::isfinite(label);
  return label >= 0 && label < static_cast<double>(classes) && label == std::floor(label);
}

template <class T>
Tensor list_tensor(std::span<const T> values) {
  return tensor_of(values, {static_cast<std::int64_t>(values.size())});
}

// The numbers of the shard's rows from an array with one number a row.
std::span<const double> gather(Dataset& into, std::span<const double> from, const Shard& shard) {
  if (from.empty()) return {};
  base::Buffer<double> numbers(static_cast<std::size_t>(shard.rows));
  std::int64_t at = 0;
  for (const RowRange& block : shard.blocks) {
    copy(numbers, at, from.data() + block.begin, block.end - block.begin);
    at += block.end - block.begin;
  }
  return own(into, std::move(numbers));
}

template <class T>
void gather(ShardFile& file, const Dense<T>& from, const Shard& shard) {
  base::Buffer<T> values(static_cast<std::size_t>(shard.rows * from.cols));
  std::int64_t at = 0;
  for (const RowRange& block : shard.blocks) {
    const std::int64_t count = (block.end - block.begin) * from.cols;
    copy(values, at, from.values + block.begin * from.cols, count);
    at += count;
  }
  const std::span<const T> view = own(file.rows, std::move(values));
  file.rows.x = Dense<T>{view.data(), shard.rows, from.cols};
  file.tensors["x"] = tensor_of(view, {shard.rows, from.cols});
}

template <class T>
void gather(ShardFile& file, const Sparse<T>& from, const Shard& shard) {
  std::int64_t stored = 0;
  for (const RowRange& block : shard.blocks) {
    stored += from.row_start[block.end] - from.row_start[block.begin];
  }
  base::Buffer<std::int64_t> starts(static_cast<std::size_t>(shard.rows) + 1);
  base::Buffer<std::int32_t> columns(static_cast<std::size_t>(stored));
  base::Buffer<T> values(static_cast<std::size_t>(stored));
  std::int64_t row = 0, at = 0;
  for (const RowRange& block : shard.blocks) {
    const std::int64_t begin = from.row_start[block.begin];
    const std::int64_t count = from.row_start[block.end] - begin;
    copy(columns, at, from.columns + begin, count);
    copy(values, at, from.values + begin, count);
    for (std::int64_t i = block.begin; i < block.end; ++i) {
      starts[static_cast<std::size_t>(++row)] = at + from.row_start[i + 1] - begin;
    }
    at += count;
  }
  const auto start_view = own(file.rows, std::move(starts));
  const auto column_view = own(file.rows, std::move(columns));
  const std::span<const T> value_view = own(file.rows, std::move(values));
  file.rows.x =
      Sparse<T>{start_view.data(), column_view.data(), value_view.data(), shard.rows, from.cols};
  file.tensors["row_start"] = list_tensor(start_view);
  file.tensors["columns"] = list_tensor(column_view);
  file.tensors["values"] = list_tensor(value_view);
}

}  // namespace

std::int64_t Outline::rows() const {
  return std::accumulate(shard_rows.begin(), shard_rows.end(), std::int64_t{0});
}
std::int64_t Outline::stored() const {
  return std::accumulate(shard_stored.begin(), shard_stored.end(), std::int64_t{0});
}

void check(const Outline& outline) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::kInput, "the outline of the data: {}", what);
  };
  const std::size_t shards = outline.shard_rows.size();
  if (shards == 0 || std::ssize(outline.shard_rows) > kMostShards) {
    refuse(fmt::format("{} shards, expected 1 to {}", shards, kMostShards));
  }
  if (outline.shard_stored.size() != shards) {
    refuse(
        fmt::format("rows of {} shards, stored values of {}", shards, outline.shard_stored.size()));
  }
  if (outline.cols < 1 || outline.cols > INT32_MAX) {
    refuse(fmt::format("{} columns, expected 1 to {}", outline.cols, INT32_MAX));
  }
  std::int64_t all_rows = 0, all_stored = 0;
  for (std::size_t s = 0; s < shards; ++s) {
    const std::int64_t rows = outline.shard_rows[s], stored = outline.shard_stored[s];
    // Below 2^44 rows and 2^31 columns, and so within 128 bits.
    if (rows < 0 || rows > kMostStored || stored < 0 || stored > kMostStored) {
      refuse(fmt::format("shard {} has {} rows and {} stored values, expected 0 to {}", s, rows,
                         stored, kMostStored));
    }
    const __int128 places = static_cast<__int128>(rows) * outline.cols;
    if (outline.sparse ? stored > places : stored != places) {
      refuse(fmt::format("shard {} has {} rows x {} columns, but {} stored values", s, rows,
                         outline.cols, stored));
    }
    all_rows += rows;
    all_stored += stored;
    if (all_rows > kMostStored || all_stored > kMostStored) {
      refuse(fmt::format("more than {} rows or stored values", kMostStored));
    }
  }
  for (const double label : outline.label_values) {
    if (!is_label(label, outline.class_names.size())) {
      refuse(fmt::format("label {} of {} classes with names", label, outline.class_names.size()));
    }
  }
  if (!outline.feature_names.empty() && std::ssize(outline.feature_names) != outline.cols) {
    refuse(
        fmt::format("{} feature names for {} columns", outline.feature_names.size(), outline.cols));
  }
}

Outline outline_of(const Part& part) {
  Outline outline;
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        outline.sparse = kIsSparse<M>;
        outline.float64 = std::is_same_v<typename M::Value, double>;
        outline.cols = m.cols;
        for (const Shard& shard : part.shards) {
          std::int64_t stored = 0;
          for (const RowRange& block : shard.blocks) {
            if constexpr (kIsSparse<M>) {
              stored += m.row_start[block.end] - m.row_start[block.begin];
            } else {
              stored += (block.end - block.begin) * m.cols;
            }
          }
          outline.shard_rows.push_back(shard.rows);
          outline.shard_stored.push_back(stored);
        }
      },
      part.data.x);
  outline.labelled = part.labelled;
  outline.weighted = part.weighted;
  outline.deal = part.deal;
  outline.read_rows = part.read_rows;
  outline.sha256 = part.sha256;
  outline.label_values = part.label_values;
  outline.class_names = part.data.class_names;
  outline.feature_names = part.data.feature_names;
  outline.counts_from_one = part.data.counts_from_one;
  outline.table = part.data.table;
  return outline;
}

ShardFile shard_file(const Dataset& data, const Shard& shard) {
  ShardFile file;
  std::visit([&](const auto& m) { gather(file, m, shard); }, data.x);
  file.rows.labels = gather(file.rows, data.labels, shard);
  file.rows.weights = gather(file.rows, data.weights, shard);
  if (!data.labels.empty()) file.tensors["labels"] = list_tensor(file.rows.labels);
  if (!data.weights.empty()) file.tensors["weights"] = list_tensor(file.rows.weights);
  file.metadata = {{"kind", "data"},
                   {"rows", fmt::format("{}", shard.rows)},
                   {"cols", fmt::format("{}", cols(data.x))},
                   {"format_version", "1"}};
  return file;
}

ShardBuffer::ShardBuffer(Outline outline) : outline_(std::move(outline)) {
  check(outline_);
  const auto sums = [](const std::vector<std::int64_t>& counts) {
    std::vector<std::int64_t> first(counts.size() + 1, 0);
    std::partial_sum(counts.begin(), counts.end(), first.begin() + 1);
    return first;
  };
  first_row_ = sums(outline_.shard_rows);
  first_stored_ = sums(outline_.shard_stored);
  const auto rows = static_cast<std::size_t>(first_row_.back());
  const auto stored = static_cast<std::size_t>(first_stored_.back());
  values_.resize(stored * (outline_.float64 ? sizeof(double) : sizeof(float)));
  if (outline_.sparse) {
    columns_.resize(stored);
    row_start_.resize(rows + 1);
    for (std::size_t s = 0; s < first_row_.size(); ++s) {
      row_start_[static_cast<std::size_t>(first_row_[s])] = first_stored_[s];
    }
  }
  if (outline_.labelled) labels_.resize(rows);
  if (outline_.weighted) weights_.resize(rows);
}

RowRange ShardBuffer::rows_of(int shard) const {
  const auto s = static_cast<std::size_t>(shard);
  return {first_row_[s], first_row_[s + 1]};
}

void ShardBuffer::fill(int shard, const Dataset& rows) {
  const auto s = static_cast<std::size_t>(shard);
  const RowRange range = rows_of(shard);
  const auto wrong = [&](const char* what) {
    throw Error(ErrorKind::kInput, "shard {}: its {} are not what the job says", shard, what);
  };
  if (data::rows(rows.x) != range.end - range.begin) wrong("rows");
  if (stored(rows.x) != outline_.shard_stored[s]) wrong("values");
  if (cols(rows.x) != outline_.cols) wrong("columns");
  const auto numbers = [&](bool there) {
    return there ? static_cast<std::size_t>(range.end - range.begin) : 0;
  };
  if (rows.labels.size() != numbers(outline_.labelled)) wrong("labels");
  if (rows.weights.size() != numbers(outline_.weighted)) wrong("weights");
  check_finite(rows.x, fmt::format("shard {}", shard), 1);
  for (const double label : rows.labels) {
    if (!is_label(label, outline_.class_names.size())) wrong("labels");
  }
  for (const double weight : rows.weights) {
    if (!std::isfinite(weight) || weight < 0) wrong("weights");
  }
  const std::int64_t at = first_stored_[s], count = outline_.shard_stored[s];
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        using T = typename M::Value;
        if (kIsSparse<M> != outline_.sparse || (sizeof(T) == 8) != outline_.float64) wrong("types");
        const auto bytes = static_cast<std::int64_t>(sizeof(T));
        copy(values_, at * bytes, reinterpret_cast<const std::byte*>(m.values), count * bytes);
        if constexpr (kIsSparse<M>) {
          copy(columns_, at, m.columns, count);
          // The first and the last row start are set already: neighbours share them.
          for (std::int64_t i = 1; i < m.rows; ++i) {
            row_start_[static_cast<std::size_t>(range.begin + i)] = at + m.row_start[i];
          }
        }
      },
      rows.x);
  if (outline_.labelled) copy(labels_, range.begin, rows.labels.data(), data::rows(rows.x));
  if (outline_.weighted) copy(weights_, range.begin, rows.weights.data(), data::rows(rows.x));
}

void ShardBuffer::drop(int shard) {
  const auto s = static_cast<std::size_t>(shard);
  const auto discard = [](auto& buffer, std::int64_t begin, std::int64_t end) {
    if (buffer.empty()) return;
    const auto elements = buffer.span().subspan(static_cast<std::size_t>(begin),
                                                static_cast<std::size_t>(end - begin));
    base::discard_pages(std::as_bytes(elements));
  };
  const auto bytes = static_cast<std::int64_t>(outline_.float64 ? sizeof(double) : sizeof(float));
  discard(values_, first_stored_[s] * bytes, first_stored_[s + 1] * bytes);
  discard(columns_, first_stored_[s], first_stored_[s + 1]);
  // Row starts stay: the first of a shard is also the end of the shard before.
  discard(labels_, first_row_[s], first_row_[s + 1]);
  discard(weights_, first_row_[s], first_row_[s + 1]);
}

Part ShardBuffer::part(const std::set<int>& shards) const {
  Part part;
  const auto set = [&]<class T>(T) {
    const T* values = reinterpret_cast<const T*>(values_.data());
    if (outline_.sparse) {
      part.data.x =
          Sparse<T>{row_start_.data(), columns_.data(), values, first_row_.back(), outline_.cols};
    } else {
      part.data.x = Dense<T>{values, first_row_.back(), outline_.cols};
    }
  };
  if (outline_.float64) {
    set(double{});
  } else {
    set(float{});
  }
  part.data.labels = labels_.span();
  part.data.weights = weights_.span();
  part.data.class_names = outline_.class_names;
  part.data.feature_names = outline_.feature_names;
  part.data.counts_from_one = outline_.counts_from_one;
  part.data.table = outline_.table;
  part.rows = first_row_.back();
  part.stored = first_stored_.back();
  part.labelled = outline_.labelled;
  part.weighted = outline_.weighted;
  part.deal = outline_.deal;
  part.read_rows = outline_.read_rows;
  part.sha256 = outline_.sha256;
  part.label_values = outline_.label_values;
  for (std::size_t s = 0; s < outline_.shard_rows.size(); ++s) {
    Shard shard{static_cast<int>(s), {}, outline_.shard_rows[s]};
    if (shards.count(shard.index) != 0) {
      shard.blocks = blocks_of(shard.rows, block_rows(part.rows));
      for (RowRange& block : shard.blocks) {
        block.begin += first_row_[s];
        block.end += first_row_[s];
      }
    }
    part.shards.push_back(std::move(shard));
  }
  return part;
}

}  // namespace meanwhile::data
