#include "meanwhile/data/files/settle_table.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/table/encode.h"
#include "meanwhile/data/table/fit.h"

namespace meanwhile::data {

namespace {

template <class T>
RowPieces<T> pieces_of(const Dense<T>& m, base::Threads threads) {
  constexpr std::int64_t kPieceRows = 1 << 14;
  const std::int64_t pieces = (m.rows + kPieceRows - 1) / kPieceRows;
  const base::Threads most = threads.at_most(pieces);
  return {static_cast<std::size_t>(m.cols), most.count,
          [m, pieces, most](const std::function<void(std::span<const T>, int)>& use) {
            base::ThreadPool pool(most);
            pool.run(pieces, [&](std::int64_t piece, int thread) {
              const std::int64_t begin = piece * kPieceRows;
              const std::int64_t end = std::min(m.rows, begin + kPieceRows);
              use({m.values + begin * m.cols, static_cast<std::size_t>((end - begin) * m.cols)},
                  thread);
            });
          }};
}

}  // namespace

template <class T>
SettledTable settle_schema(const TableSchema& read, const TableCounts& counts, std::int64_t rows,
                           const RowPieces<T>& pieces, const ReadOptions& options,
                           const AddUp& add_up, const std::string& name) {
  if (options.incomplete == Incomplete::kAsTrained) {
    try {
      check_missing(read, counts, rows);
    } catch (base::Error& error) {
      throw error.in(name);
    }
  }
  if (options.schema) return {read, {}};
  SettledTable settled{fit(read, counts, options.max_levels, pieces, add_up), {}};
  settled.notes = training_notes(settled.schema, counts, rows);
  return settled;
}

template SettledTable settle_schema(const TableSchema&, const TableCounts&, std::int64_t,
                                    const RowPieces<float>&, const ReadOptions&, const AddUp&,
                                    const std::string&);
template SettledTable settle_schema(const TableSchema&, const TableCounts&, std::int64_t,
                                    const RowPieces<double>&, const ReadOptions&, const AddUp&,
                                    const std::string&);

Dataset settle_table(Dataset raw, const TableCounts& numbering, const TableCounts& counts,
                     std::int64_t rows, const ReadOptions& options, const AddUp& add_up,
                     const std::string& name) {
  if (counts.empty() || !raw.table) return raw;
  const TableSchema read = *raw.table;
  const auto settle = [&](const auto& m) {
    return settle_schema(read, counts, rows, pieces_of(m, options.threads), options, add_up, name);
  };
  SettledTable settled = std::holds_alternative<Dense<float>>(raw.x)
                             ? settle(std::get<Dense<float>>(raw.x))
                             : settle(std::get<Dense<double>>(raw.x));
  Dataset data = encode(std::move(raw), settled.schema, numbering, options.threads);
  if (options.schema) {
    settled.notes = matching_notes(settled.schema, counts, rows,
                                   static_cast<std::int64_t>(data.incomplete.size()));
  }
  data.notes.insert(data.notes.end(), settled.notes.begin(), settled.notes.end());
  return data;
}

}  // namespace meanwhile::data
