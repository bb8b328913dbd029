#include "meanwhile/data/table/weigh.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"

namespace meanwhile::data {

namespace {

// All blocks of the shards that are held here.
std::vector<RowRange> blocks_in(const Part& part) {
  std::vector<RowRange> blocks;
  for (const Shard& shard : part.shards) {
    blocks.insert(blocks.end(), shard.blocks.begin(), shard.blocks.end());
  }
  return blocks;
}

// How many rows a row stands for. Dealt by content, a row of weight 2 is the row twice; in blocks
// of the file, a weight says how much a row counts in training alone.
double copies(const Part& part, std::int64_t row) {
  if (part.deal != Deal::kContent || part.data.weights.empty()) return 1;
  return part.data.weights[static_cast<std::size_t>(row)];
}

// Calls use(column, value, copies) for every value of the rows that is not zero.
template <class Use>
void for_entries(const Part& part, const std::vector<RowRange>& blocks, const Use& use) {
  std::visit(
      [&](const auto& m) {
        for (const RowRange& rows : blocks) {
          for (std::int64_t i = rows.begin; i < rows.end; ++i) {
            const double times = copies(part, i);
            if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
              for (std::int64_t k = m.row_start[i]; k < m.row_start[i + 1]; ++k) {
                if (m.values[k] == 0) continue;
                use(static_cast<std::size_t>(m.columns[k]), static_cast<double>(m.values[k]),
                    times);
              }
            } else {
              const auto row = m.row(i);
              for (std::size_t j = 0; j < row.size(); ++j) {
                if (row[j] != 0) use(j, static_cast<double>(row[j]), times);
              }
            }
          }
        }
      },
      part.data.x);
}

// The number of rows, copies counted. Sums of shards are added in order of their numbers.
double all_copies(const Part& part, const AddUp& add_up) {
  if (part.deal != Deal::kContent || !part.weighted) return static_cast<double>(part.rows);
  std::vector<std::int64_t> bits(part.shards.size());
  for (std::size_t s = 0; s < bits.size(); ++s) {
    double sum = 0;
    for (const RowRange& rows : part.shards[s].blocks) {
      for (std::int64_t i = rows.begin; i < rows.end; ++i) sum += copies(part, i);
    }
    bits[s] = std::bit_cast<std::int64_t>(sum);
  }
  add_up(bits);
  double total = 0;
  for (const std::int64_t sum : bits) total += std::bit_cast<double>(sum);
  return total;
}

// Gives all pages of mapped rows back: a look at a few rows brings their neighbours, too.
void release(const Matrix& x) {
  const auto give_back = [](const auto* first, std::int64_t count) {
    base::release_mapped(std::as_bytes(std::span(first, static_cast<std::size_t>(count))));
  };
  std::visit(
      [&](const auto& m) {
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
          give_back(m.row_start, m.rows + 1);
          give_back(m.columns, stored(x));
        }
        give_back(m.values, stored(x));
      },
      x);
}

// Sums over all values that are not zero of value_of(column, value), by column. A shard is summed
// in order of its rows, and shards are added in order of their numbers, so the sums are the same
// for any number of workers. Workers add up the bits of a shard's sums: those of the others are 0.
template <class ValueOf>
std::vector<double> column_sums(const Part& part, base::Threads threads, const AddUp& add_up,
                                const ValueOf& value_of) {
  const auto width = static_cast<std::size_t>(cols(part.data.x));
  const auto shards = static_cast<std::int64_t>(part.shards.size());
  std::vector<std::vector<double>> of_shard(part.shards.size());
  base::ThreadPool pool(threads.at_most(shards));
  pool.run(shards, [&](std::int64_t s, int) {
    const auto& blocks = part.shards[static_cast<std::size_t>(s)].blocks;
    if (blocks.empty()) return;
    std::vector<double>& sums = of_shard[static_cast<std::size_t>(s)];
    sums.resize(width);
    for_entries(part, blocks, [&](std::size_t column, double value, double times) {
      sums[column] += times * value_of(column, value);
    });
  });
  std::vector<double> total(width);
  std::vector<std::int64_t> bits(width);
  for (const std::vector<double>& sums : of_shard) {
    std::fill(bits.begin(), bits.end(), 0);
    for (std::size_t j = 0; j < sums.size(); ++j) bits[j] = std::bit_cast<std::int64_t>(sums[j]);
    add_up(bits);
    for (std::size_t j = 0; j < width; ++j) total[j] += std::bit_cast<double>(bits[j]);
  }
  return total;
}

// The number of rows, copies counted, that have a value in each column.
std::vector<double> document_frequencies(const Part& part, base::Threads threads,
                                         const AddUp& add_up) {
  if (part.deal == Deal::kContent && part.weighted) {
    return column_sums(part, threads, add_up, [](std::size_t, double) { return 1.0; });
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(cols(part.data.x)));
  for_entries(part, blocks_in(part), [&](std::size_t column, double, double) { ++counts[column]; });
  add_up(counts);
  return {counts.begin(), counts.end()};
}

// The standard deviation of each column; zeros count.
std::vector<double> deviations(const Part& part, const std::vector<double>& stored, double n,
                               base::Threads threads, const AddUp& add_up) {
  std::vector<double> means =
      column_sums(part, threads, add_up, [](std::size_t, double value) { return value; });
  for (double& mean : means) mean /= n;
  std::vector<double> squares =
      column_sums(part, threads, add_up, [&](std::size_t column, double value) {
        return (value - means[column]) * (value - means[column]);
      });
  for (std::size_t j = 0; j < squares.size(); ++j) {
    const double zeros = n - stored[j];
    squares[j] = std::sqrt((squares[j] + zeros * means[j] * means[j]) / n);
  }
  return squares;
}

// Whether each encoded column is a number of the table; categories and words are not.
std::vector<bool> are_numbers(const TableSchema& schema) {
  std::vector<bool> numbers(static_cast<std::size_t>(schema.unnamed), true);
  for (const Column* column : features(schema)) {
    const bool number = column->kind != ColumnKind::kCategory && column->kind != ColumnKind::kText;
    const std::int64_t width = encoded_width(*column);
    for (std::int64_t i = 0; i < width; ++i) numbers.push_back(number && i == 0);
  }
  return numbers;
}

// 1 / length, or 1 for a row of zeros.
template <class T>
double length_factor(std::span<const T> values) {
  double sum = 0;
  for (const T value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum > 0 ? 1 / std::sqrt(sum) : 1;
}

}  // namespace

TableSchema fit_weights(const Part& part, const Weighting& weighting, base::Threads threads,
                        const AddUp& add_up) {
  TableSchema schema;
  if (part.data.table) {
    schema = *part.data.table;
  } else {
    schema.unnamed = cols(part.data.x);
  }
  const double n = all_copies(part, add_up);
  const std::vector<double> counts = document_frequencies(part, threads, add_up);
  if (weighting.standardize) {
    schema.scales = deviations(part, counts, n, threads, add_up);
    const std::vector<bool> numbers = are_numbers(schema);
    for (std::size_t j = 0; j < schema.scales.size(); ++j) {
      const double scale = schema.scales[j];
      if (!numbers[j] || !std::isfinite(scale) || scale <= 0) schema.scales[j] = 1;
    }
  }
  if (weighting.tfidf) {
    schema.idf.clear();
    for (const double count : counts) {
      schema.idf.push_back(std::log((1 + n) / (1 + count)) + 1);
    }
  }
  schema.normalize = weighting.normalize;
  return schema;
}

Dataset weigh(Dataset data, const TableSchema& schema, base::Threads threads) {
  if (schema.scales.empty() && schema.idf.empty() && !schema.normalize) return data;
  const auto width = static_cast<std::size_t>(cols(data.x));
  std::vector<double> factors(width, 1.0);
  for (std::size_t j = 0; j < std::min(width, schema.scales.size()); ++j) {
    factors[j] /= schema.scales[j];
  }
  for (std::size_t j = 0; j < std::min(width, schema.idf.size()); ++j) factors[j] *= schema.idf[j];
  constexpr std::int64_t kRowsAtOnce = 4096;
  const std::int64_t pieces = (rows(data.x) + kRowsAtOnce - 1) / kRowsAtOnce;
  base::ThreadPool pool(threads.at_most(pieces));
  Dataset weighed = data;
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        using T = typename M::Value;
        base::Buffer<T> values(static_cast<std::size_t>(stored(data.x)));
        pool.run(pieces, [&](std::int64_t piece, int) {
          const std::int64_t end = std::min(m.rows, (piece + 1) * kRowsAtOnce);
          for (std::int64_t i = piece * kRowsAtOnce; i < end; ++i) {
            std::int64_t first = i * m.cols, last = first + m.cols;
            if constexpr (kIsSparse<M>) first = m.row_start[i], last = m.row_start[i + 1];
            for (std::int64_t k = first; k < last; ++k) {
              std::size_t column = static_cast<std::size_t>(k - first);
              if constexpr (kIsSparse<M>) column = static_cast<std::size_t>(m.columns[k]);
              values[static_cast<std::size_t>(k)] =
                  static_cast<T>(static_cast<double>(m.values[k]) * factors[column]);
            }
            if (!schema.normalize) continue;
            const auto row = values.span().subspan(static_cast<std::size_t>(first),
                                                   static_cast<std::size_t>(last - first));
            const double factor = length_factor(std::span<const T>(row));
            for (T& value : row) value = static_cast<T>(static_cast<double>(value) * factor);
          }
        });
        M copy = m;
        copy.values = own(weighed, std::move(values)).data();
        weighed.x = copy;
      },
      data.x);
  weighed.mapped = false;
  weighed.table = std::make_shared<const TableSchema>(schema);
  return weighed;
}

Dominant dominant_column(const Part& part) {
  constexpr std::int64_t kRows = 20'000;
  const auto width = static_cast<std::size_t>(cols(part.data.x));
  // Every so many blocks, so that the sample is spread over all rows.
  const std::vector<RowRange> blocks = blocks_in(part);
  std::int64_t held = 0;
  for (const RowRange& rows : blocks) held += rows.end - rows.begin;
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, held / kRows));
  std::vector<double> sum(width), square(width);
  double n = 0;
  for (std::size_t b = 0; b < blocks.size(); b += step) {
    for (std::int64_t i = blocks[b].begin; i < blocks[b].end; ++i) n += copies(part, i);
    for_entries(part, {blocks[b]}, [&](std::size_t column, double value, double times) {
      sum[column] += times * value;
      square[column] += times * value * value;
    });
    if (part.data.mapped) release(part.data.x);
  }
  if (n == 0) return {};
  double all = 0, most = 0;
  Dominant dominant;
  for (std::size_t j = 0; j < width; ++j) {
    const double mean = sum[j] / n;
    const double variance = std::max(0.0, square[j] / n - mean * mean);
    all += variance;
    if (variance <= most) continue;
    most = variance;
    dominant.column = static_cast<std::int64_t>(j);
  }
  dominant.share = all > 0 ? most / all : 0;
  return dominant;
}

}  // namespace meanwhile::data
