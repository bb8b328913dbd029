#include "meanwhile/tables/wanted_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "meanwhile/base/error.h"

namespace meanwhile::tables {

using base::Error;
using base::ErrorKind;

std::vector<SliceRows> list_wanted(const TableSet& set, std::span<const Wants> wants,
                                   const HeldRows* kept, HeldRows& held) {
  std::vector<SliceRows> all;
  std::size_t widest = 0;
  for (std::size_t t = 0; t < set.tables.size(); ++t) {
    const Table& table = set.tables[t];
    const Slices& slices = set.slices[t];
    widest = std::max(widest, dense_row_bytes(table));
    HeldRows::OfTable& of = held.tables.emplace_back();
    for (const Wants& list : wants) {
      const auto rows = list.rows(static_cast<int>(t));
      of.rows.insert(of.rows.end(), rows.begin(), rows.end());
    }
    std::sort(of.rows.begin(), of.rows.end());
    of.rows.erase(std::unique(of.rows.begin(), of.rows.end()), of.rows.end());
    if (!of.rows.empty() && (of.rows.front() < 0 || of.rows.back() >= table.rows)) {
      throw Error(ErrorKind::kFailed, "row {} of the table {} is wanted, which has {}",
                  of.rows.front() < 0 ? of.rows.front() : of.rows.back(), table.name, table.rows);
    }
    of.values.resize(of.rows.size());
    std::vector<std::vector<std::size_t>> of_slice(static_cast<std::size_t>(slices.count()));
    std::size_t next_kept = 0;
    for (std::size_t i = 0; i < of.rows.size(); ++i) {
      if (kept != nullptr) {
        const HeldRows::OfTable& there = kept->tables[t];
        while (next_kept < there.rows.size() && there.rows[next_kept] < of.rows[i]) ++next_kept;
        if (next_kept < there.rows.size() && there.rows[next_kept] == of.rows[i]) {
          of.values[i] = there.values[next_kept];
          continue;
        }
      }
      of_slice[static_cast<std::size_t>(slices.slice_of(of.rows[i]))].push_back(i);
    }
    for (int slice = 0; slice < slices.count(); ++slice) {
      std::vector<std::size_t>& at = of_slice[static_cast<std::size_t>(slice)];
      if (!at.empty()) all.push_back({static_cast<int>(t), slice, std::move(at)});
    }
  }
  held.zeros.resize(widest);
  return all;
}

void take_rows(const TableSet& set, const SliceRows& rows, std::shared_ptr<const Slice> content,
               bool stays, HeldRows& held) {
  const auto t = static_cast<std::size_t>(rows.table);
  const std::size_t size = number_bytes(set.tables[t].number);
  for (const std::size_t i : rows.at) {
    RowValues row = content->row(set.slices[t].place_of(held.tables[t].rows[i]));
    if (!stays) {
      const auto count = static_cast<std::size_t>(row.count);
      auto* const values = held.arena.take(count * size);
      std::memcpy(values, row.values, count * size);
      row.values = values;
      if (row.columns != nullptr) {
        auto* const columns = held.arena.take(count * sizeof(std::int32_t));
        std::memcpy(columns, row.columns, count * sizeof(std::int32_t));
        row.columns = reinterpret_cast<const std::int32_t*>(columns);
      }
    }
    held.tables[t].values[i] = row;
  }
  if (stays) held.alive.push_back(std::move(content));
}

}  // namespace meanwhile::tables
