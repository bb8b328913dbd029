// Rows are added in compact form: the rows that any term has are numbered 0 .. n - 1, each term is
// spread over these n rows with the identity in between, and add_terms() adds n rows.
#include "meanwhile/exchange/rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/exchange/add.h"
#include "meanwhile/exchange/sparse.h"

namespace meanwhile::exchange {

namespace {

constexpr auto kAbsent = std::numeric_limits<std::uint32_t>::max();

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Content of a sparse run.
struct Rows {
  std::size_t count = 0;
  bool all = false;
  const std::byte* values = nullptr;
  const std::byte* places = nullptr;  // unless all

  std::uint32_t place(std::size_t i) const {
    std::uint32_t place = 0;
    std::memcpy(&place, places + i * kPlaceBytes, kPlaceBytes);
    return place;
  }
};

Rows rows_of(const Run& run, const Piece& piece, std::span<const std::byte> content) {
  const std::size_t unit = run.unit_bytes(), units = piece.units();
  if (content.size() == units * unit) return {units, true, content.data(), nullptr};
  const std::size_t count = content.size() / (unit + kPlaceBytes);
  bool good = content.size() < units * unit && content.size() == count * (unit + kPlaceBytes);
  const Rows rows{count, false, content.data(), content.data() + count * unit};
  for (std::size_t i = 0; good && i < count; ++i) {
    good = rows.place(i) < units && (i == 0 || rows.place(i - 1) < rows.place(i));
  }
  if (good) return rows;
  throw base::Error(base::ErrorKind::kFailed,
                    "a message of {} bytes is no piece of {} rows of {} bytes: do all workers run "
                    "the same program on the same data?",
                    content.size(), units, unit);
}

void fill_absent(const Run& run, std::byte* values, std::size_t units) {
  with_element(run.element, [&](auto type) {
    using T = decltype(type);
    std::fill_n(reinterpret_cast<T*>(values), units * size(run.width), identity<T>(run.combine));
  });
}

// Whether a content of so many rows is shorter than one of all.
bool is_listed(const Run& run, const Piece& piece, std::size_t rows) {
  return rows * (run.unit_bytes() + kPlaceBytes) < piece.units() * run.unit_bytes();
}

// Half the bytes are saved: below that, a list that must be made costs more than a fast link wins.
bool is_half(const Run& run, const Piece& piece, std::size_t rows) {
  return 2 * rows * (run.unit_bytes() + kPlaceBytes) < piece.units() * run.unit_bytes();
}

// The rows of a full run that are not the identity; stops where a list does not pay.
std::vector<std::int64_t> rows_written(const Run& run, const Piece& piece,
                                       const std::byte* values) {
  const std::size_t unit = run.unit_bytes();
  transport::Bytes absent(unit);
  fill_absent(run, absent.data(), 1);
  std::vector<std::int64_t> written;
  for (std::size_t i = 0; i < piece.units(); ++i) {
    if (std::memcmp(values + i * unit, absent.data(), unit) == 0) continue;
    written.push_back(piece.first + static_cast<std::int64_t>(i));
    if (!is_half(run, piece, written.size())) break;
  }
  return written;
}

// The rows that any of the terms has; `numbers` gives each its place in the list, or kAbsent.
std::vector<std::uint32_t> union_of(std::span<const Rows> terms,
                                    std::vector<std::uint32_t>& numbers, std::size_t units) {
  const bool all = std::any_of(terms.begin(), terms.end(), [](const Rows& r) { return r.all; });
  numbers.assign(units, all ? 0 : kAbsent);
  for (const Rows& rows : terms) {
    if (all) break;
    for (std::size_t i = 0; i < rows.count; ++i) numbers[rows.place(i)] = 0;
  }
  std::vector<std::uint32_t> list;
  for (std::size_t unit = 0; unit < units; ++unit) {
    if (numbers[unit] == kAbsent) continue;
    numbers[unit] = static_cast<std::uint32_t>(list.size());
    list.push_back(static_cast<std::uint32_t>(unit));
  }
  return list;
}

}  // namespace

std::vector<Piece> pieces_of(std::span<const Run> runs, std::int64_t first, std::int64_t last,
                             std::size_t piece_values) {
  std::vector<Piece> pieces;
  std::int64_t before = 0;  // values of the runs before
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Run& run = runs[r];
    const std::int64_t values = run.values();
    const std::int64_t begin = std::clamp<std::int64_t>(first - before, 0, values) / run.width;
    const std::int64_t end = std::clamp<std::int64_t>(last - before, 0, values) / run.width;
    const std::int64_t step =
        std::max<std::int64_t>(static_cast<std::int64_t>(piece_values) / run.width, 1);
    for (std::int64_t unit = begin; unit < end; unit += step) {
      pieces.push_back({r, unit, std::min(unit + step, end)});
    }
    before += values;
  }
  return pieces;
}

std::span<const std::byte> content_of(const Update& update, const Piece& piece,
                                      transport::Bytes& space) {
  const Run& run = update.runs()[piece.run];
  const std::size_t unit = run.unit_bytes();
  const std::byte* in_place = update.data(piece.run) + size(piece.first) * unit;
  if (!run.sparse) return {in_place, piece.units() * unit};
  std::vector<std::int64_t> written;  // of a full run
  if (update.is_full(piece.run)) {
    written = rows_written(run, piece, in_place);
    if (!is_half(run, piece, written.size())) return {in_place, piece.units() * unit};
  }
  const std::span<const std::int64_t> rows =
      update.is_full(piece.run) ? std::span<const std::int64_t>(written) : update.rows(piece.run);
  const auto begin = std::lower_bound(rows.begin(), rows.end(), piece.first);
  const auto end = std::lower_bound(begin, rows.end(), piece.last);
  const auto count = size(end - begin);
  const bool listed = is_listed(run, piece, count);
  space.resize(listed ? count * (unit + kPlaceBytes) : piece.units() * unit);
  if (!listed) fill_absent(run, space.data(), piece.units());
  for (std::size_t i = 0; i < count; ++i) {
    const auto place =
        static_cast<std::uint32_t>(begin[static_cast<std::ptrdiff_t>(i)] - piece.first);
    std::memcpy(space.data() + (listed ? i : place) * unit, in_place + place * unit, unit);
    if (listed) std::memcpy(space.data() + count * unit + i * kPlaceBytes, &place, kPlaceBytes);
  }
  return space;
}

std::span<std::byte> room_for(Update& update, const Piece& piece, transport::Bytes& space) {
  const Run& run = update.runs()[piece.run];
  const std::size_t unit = run.unit_bytes();
  if (!run.sparse) return {update.data(piece.run) + size(piece.first) * unit, piece.units() * unit};
  space.resize(piece.units() * unit);
  return space;
}

void put(Update& update, const Piece& piece, std::span<const std::byte> content) {
  const Run& run = update.runs()[piece.run];
  if (!run.sparse) return;
  const std::size_t unit = run.unit_bytes();
  const Rows rows = rows_of(run, piece, content);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::int64_t row =
        piece.first + (rows.all ? static_cast<std::int64_t>(i) : rows.place(i));
    update.hold(piece.run, row);
    std::memcpy(update.data(piece.run) + size(row) * unit, rows.values + i * unit, unit);
  }
}

std::span<const std::byte> add_pieces(const Run& run, const Piece& piece, Range node,
                                      std::span<const PieceTerm> terms, std::span<std::byte> out) {
  std::vector<Term> values;
  if (!run.sparse) {
    for (const PieceTerm& term : terms) values.push_back({term.range, term.content.data()});
    add_terms(run.element, run.combine, node, values, piece.units(), out.data());
    return out;
  }
  const std::size_t unit = run.unit_bytes();
  std::vector<Rows> rows;
  for (const PieceTerm& term : terms) rows.push_back(rows_of(run, piece, term.content));
  std::vector<std::uint32_t> numbers;
  const std::vector<std::uint32_t> list = union_of(rows, numbers, piece.units());
  const bool listed = is_listed(run, piece, list.size());
  // Where the sum is no shorter as a list, every row is added.
  const std::size_t n = listed ? list.size() : piece.units();
  std::vector<transport::Bytes> spread(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Rows& term = rows[t];
    if (term.count == n) {  // the same rows
      values.push_back({terms[t].range, term.values});
      continue;
    }
    spread[t].resize(n * unit);
    fill_absent(run, spread[t].data(), n);
    for (std::size_t i = 0; i < term.count; ++i) {
      const std::size_t to = listed ? numbers[term.place(i)] : term.place(i);
      std::memcpy(spread[t].data() + to * unit, term.values + i * unit, unit);
    }
    values.push_back({terms[t].range, spread[t].data()});
  }
  add_terms(run.element, run.combine, node, values, n * size(run.width), out.data());
  if (!listed) return out.first(n * unit);
  if (n > 0) std::memcpy(out.data() + n * unit, list.data(), n * kPlaceBytes);
  return out.first(n * (unit + kPlaceBytes));
}

}  // namespace meanwhile::exchange
