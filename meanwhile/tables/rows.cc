#include "meanwhile/tables/rows.h"

#include <algorithm>

namespace meanwhile::tables {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int32_t kWhole = -1;

[[noreturn]] void throw_no_row(const Table& table) {
  throw Error(ErrorKind::kFailed, "a message holds no row of the table {}", table.name);
}

}  // namespace

void Wants::settle() {
  for (std::vector<std::int64_t>& rows : rows_) {
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  }
}

std::byte* RowArena::take(std::size_t bytes) {
  bytes = (bytes + 7) / 8 * 8;
  if (bytes > kChunk / 4) {
    // In front of the chunk that is being filled.
    bytes_ += bytes;
    auto own = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* const at = own.get();
    chunks_.insert(chunks_.begin(), std::move(own));
    return at;
  }
  if (used_ + bytes > kChunk) {
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunk));
    bytes_ += kChunk;
    used_ = 0;
  }
  std::byte* const at = chunks_.back().get() + used_;
  used_ += bytes;
  return at;
}

const RowValues& HeldRows::find(int table, std::int64_t row) const {
  const OfTable& of = tables[static_cast<std::size_t>(table)];
  const auto at = std::lower_bound(of.rows.begin(), of.rows.end(), row) - of.rows.begin();
  assert(at < std::ssize(of.rows) && of.rows[static_cast<std::size_t>(at)] == row);
  return of.values[static_cast<std::size_t>(at)];
}

std::size_t Delta::bytes() const {
  std::size_t bytes = 0;
  for (const OfTable& of : of_) {
    bytes +=
        of.entries.size() * sizeof(Entry) + of.rows.size() * sizeof(WholeRow) + of.values.size();
  }
  return bytes;
}

template <class T>
void put_pairs(transport::Packer& to, const Table& table, std::span<const std::int32_t> columns,
               std::span<const T> values) {
  if (columns.size() * (sizeof(std::int32_t) + sizeof(T)) < dense_row_bytes(table)) {
    to.put(static_cast<std::int32_t>(columns.size()));
    to.put_raw(columns);
    to.put_raw(values);
    return;
  }
  std::vector<T> whole(static_cast<std::size_t>(table.width));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    whole[static_cast<std::size_t>(columns[i])] = values[i];
  }
  to.put(kWhole);
  to.put_raw(std::span<const T>(whole));
}
template void put_pairs(transport::Packer&, const Table&, std::span<const std::int32_t>,
                        std::span<const std::int32_t>);
template void put_pairs(transport::Packer&, const Table&, std::span<const std::int32_t>,
                        std::span<const std::int64_t>);
template void put_pairs(transport::Packer&, const Table&, std::span<const std::int32_t>,
                        std::span<const double>);

void put_row(transport::Packer& to, const Table& table, const RowValues& of) {
  with_number(table.number, [&](auto zero) {
    using T = decltype(zero);
    const auto* const values = reinterpret_cast<const T*>(of.values);
    if (of.values == nullptr) {
      put_pairs<T>(to, table, {}, {});
      return;
    }
    const auto count = static_cast<std::size_t>(of.count);
    if (of.columns != nullptr) {
      put_pairs<T>(to, table, {of.columns, count}, {values, count});
      return;
    }
    std::vector<std::int32_t> columns;
    std::vector<T> present;
    for (std::int32_t c = 0; c < table.width; ++c) {
      if (values[c] == T{0}) continue;
      columns.push_back(c);
      present.push_back(values[c]);
    }
    put_pairs<T>(to, table, columns, present);
  });
}

RowValues get_row(transport::Unpacker& from, const Table& table, RowArena& arena) {
  const auto count = from.get<std::int32_t>();
  if (count > table.width || count < kWhole) throw_no_row(table);
  if (count == 0) return {};
  return with_number(table.number, [&](auto zero) -> RowValues {
    using T = decltype(zero);
    const auto width = static_cast<std::size_t>(table.width);
    const auto whole = [&] {
      return std::span<T>(reinterpret_cast<T*>(arena.take(width * sizeof(T))), width);
    };
    if (count == kWhole) {
      const std::span<T> values = whole();
      from.get_raw(values);
      if (!table.sparse) {
        return {reinterpret_cast<const std::byte*>(values.data()), nullptr, table.width};
      }
      // In place: what is not zero moves to the front.
      std::vector<std::int32_t> present;
      std::size_t kept = 0;
      for (std::size_t c = 0; c < width; ++c) {
        if (values[c] == T{0}) continue;
        present.push_back(static_cast<std::int32_t>(c));
        values[kept++] = values[c];
      }
      auto* const columns =
          reinterpret_cast<std::int32_t*>(arena.take(kept * sizeof(std::int32_t)));
      std::copy(present.begin(), present.end(), columns);
      return {reinterpret_cast<const std::byte*>(values.data()), columns,
              static_cast<std::int32_t>(kept)};
    }
    const auto pairs = static_cast<std::size_t>(count);
    auto* const columns = reinterpret_cast<std::int32_t*>(arena.take(pairs * sizeof(std::int32_t)));
    from.get_raw(std::span(columns, pairs));
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::int32_t before = i == 0 ? -1 : columns[i - 1];
      if (columns[i] <= before || columns[i] >= table.width) throw_no_row(table);
    }
    if (table.sparse) {
      auto* const values = arena.take(pairs * sizeof(T));
      from.get_raw(std::span(reinterpret_cast<T*>(values), pairs));
      return {values, columns, count};
    }
    const std::span<T> values = whole();
    std::fill(values.begin(), values.end(), T{0});
    for (std::size_t i = 0; i < pairs; ++i) {
      values[static_cast<std::size_t>(columns[i])] = from.get<T>();
    }
    return {reinterpret_cast<const std::byte*>(values.data()), nullptr, table.width};
  });
}

std::vector<SealedDelta> Delta::seal(std::span<const Slices> slices) {
  std::vector<SealedDelta> sealed;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    with_number(tables_[t].number,
                [&](auto zero) { seal<decltype(zero)>(static_cast<int>(t), slices[t], sealed); });
  }
  return sealed;
}

// Rows are brought into the order of (slice, row), by which a message is cut.
template <class T>
void Delta::seal(int table, const Slices& slices, std::vector<SealedDelta>& sealed) {
  OfTable of = std::exchange(of_[static_cast<std::size_t>(table)], {});
  const Table& spec = tables_[static_cast<std::size_t>(table)];
  const auto goes_first = [&](std::int64_t a, std::int64_t b) {
    const int of_a = slices.slice_of(a), of_b = slices.slice_of(b);
    return of_a != of_b ? of_a < of_b : a < b;
  };
  std::stable_sort(of.entries.begin(), of.entries.end(), [&](const Entry& a, const Entry& b) {
    return a.row != b.row ? goes_first(a.row, b.row) : a.column < b.column;
  });
  std::stable_sort(of.rows.begin(), of.rows.end(), [&](const WholeRow& a, const WholeRow& b) {
    return a.row != b.row && goes_first(a.row, b.row);
  });
  transport::Packer packer;
  int slice = -1;
  const auto close = [&] {
    if (slice >= 0) sealed.push_back({table, slice, packer.take()});
    packer = {};
  };
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  std::size_t e = 0, r = 0;
  while (e < of.entries.size() || r < of.rows.size()) {
    const bool takes_row = e == of.entries.size() ||
                           (r < of.rows.size() && !goes_first(of.entries[e].row, of.rows[r].row));
    const std::int64_t row = takes_row ? of.rows[r].row : of.entries[e].row;
    columns.clear();
    values.clear();
    if (takes_row) {
      std::vector<T> whole(static_cast<std::size_t>(spec.width));
      for (; r < of.rows.size() && of.rows[r].row == row; ++r) {
        for (std::size_t c = 0; c < whole.size(); ++c) {
          T by;
          std::memcpy(&by, &of.values[of.rows[r].at + c * sizeof(T)], sizeof(T));
          whole[c] = sum_of(whole[c], by);
        }
      }
      for (; e < of.entries.size() && of.entries[e].row == row; ++e) {
        T by;
        std::memcpy(&by, of.entries[e].value, sizeof(T));
        T& at = whole[static_cast<std::size_t>(of.entries[e].column)];
        at = sum_of(at, by);
      }
      for (std::size_t c = 0; c < whole.size(); ++c) {
        if (whole[c] == T{0}) continue;
        columns.push_back(static_cast<std::int32_t>(c));
        values.push_back(whole[c]);
      }
    } else {
      while (e < of.entries.size() && of.entries[e].row == row) {
        const std::int32_t column = of.entries[e].column;
        T sum{0};
        for (; e < of.entries.size() && of.entries[e].row == row && of.entries[e].column == column;
             ++e) {
          T by;
          std::memcpy(&by, of.entries[e].value, sizeof(T));
          sum = sum_of(sum, by);
        }
        if (sum == T{0}) continue;
        columns.push_back(column);
        values.push_back(sum);
      }
    }
    if (columns.empty()) continue;
    if (const int at = slices.slice_of(row); at != slice) {
      close();
      slice = at;
    }
    packer.put(row);
    put_pairs<T>(packer, spec, columns, values);
  }
  close();
}

}  // namespace meanwhile::tables
