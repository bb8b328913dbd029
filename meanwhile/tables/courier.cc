// A request lists, for each table and slice, places of rows in ascending order, as gaps in groups
// of seven bits; the answer has the rows in this order, without their numbers.
#include "meanwhile/tables/courier.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/transport/collect.h"

namespace meanwhile::tables {

using base::Error;
using base::ErrorKind;
using transport::Bytes;
using transport::Packer;
using transport::Unpacker;

namespace {

void put_gap(Packer& to, std::uint64_t gap) {
  for (; gap >= 0x80; gap >>= 7) to.put(static_cast<std::uint8_t>(gap | 0x80));
  to.put(static_cast<std::uint8_t>(gap));
}

std::uint64_t get_gap(Unpacker& from) {
  std::uint64_t gap = 0;
  for (int bits = 0; bits < 63; bits += 7) {
    const auto byte = from.get<std::uint8_t>();
    gap |= static_cast<std::uint64_t>(byte & 0x7F) << bits;
    if (byte < 0x80) return gap;
  }
  throw Error(ErrorKind::kFailed, "a message asks for no row");
}

// Rows of a slice that are asked for: where they are among those held.
struct Asked {
  int table = 0, slice = 0;
  std::vector<std::size_t> at;
};

}  // namespace

Courier::Courier(transport::Transport* transport, const TableSet& set, SliceStore& store)
    : transport_(transport), set_(set), store_(store) {}

std::vector<Bytes> Courier::swap(std::vector<Bytes> to_each) {
  if (transport_ == nullptr) return to_each;
  moved_.messages += 2 * (workers() - 1);
  return transport::all_to_all(*transport_, std::move(to_each));
}

void Courier::keep(const Wants& wants) {
  drop_kept();
  kept_ = fetch({&wants, 1});
}

std::unique_ptr<HeldRows> Courier::fetch(std::span<const Wants> wants) {
  auto held = std::make_unique<HeldRows>();
  std::size_t widest = 0;
  std::vector<std::vector<Asked>> asked(static_cast<std::size_t>(workers()));  // of each owner
  for (std::size_t t = 0; t < set_.tables.size(); ++t) {
    const Table& table = set_.tables[t];
    const Slices& slices = set_.slices[t];
    widest = std::max(widest, dense_row_bytes(table));
    HeldRows::OfTable& of = held->tables.emplace_back();
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
    moved_.rows += std::ssize(of.rows);
    std::vector<std::vector<std::size_t>> of_slice(static_cast<std::size_t>(slices.count()));
    std::size_t next_kept = 0;
    for (std::size_t i = 0; i < of.rows.size(); ++i) {
      if (kept_) {
        const HeldRows::OfTable& kept = kept_->tables[t];
        while (next_kept < kept.rows.size() && kept.rows[next_kept] < of.rows[i]) ++next_kept;
        if (next_kept < kept.rows.size() && kept.rows[next_kept] == of.rows[i]) {
          of.values[i] = kept.values[next_kept];
          continue;
        }
      }
      of_slice[static_cast<std::size_t>(slices.slice_of(of.rows[i]))].push_back(i);
    }
    for (int slice = 0; slice < slices.count(); ++slice) {
      std::vector<std::size_t>& at = of_slice[static_cast<std::size_t>(slice)];
      if (at.empty()) continue;
      asked[static_cast<std::size_t>(slices.owner_of(slice, workers()))].push_back(
          {static_cast<int>(t), slice, std::move(at)});
    }
  }
  held->zeros.resize(widest);

  for (const Asked& own : asked[static_cast<std::size_t>(rank())]) {
    read_own(own.table, own.slice, own.at, *held);
  }
  if (transport_ == nullptr) return held;
  std::vector<Bytes> requests;
  for (int worker = 0; worker < workers(); ++worker) {
    Packer packer;
    for (const Asked& of : asked[static_cast<std::size_t>(worker)]) {
      if (worker == rank()) break;
      const auto t = static_cast<std::size_t>(of.table);
      packer.put(static_cast<std::int32_t>(of.table));
      packer.put(static_cast<std::int32_t>(of.slice));
      packer.put(static_cast<std::int32_t>(of.at.size()));
      std::int64_t before = 0;
      for (const std::size_t i : of.at) {
        const std::int64_t place = set_.slices[t].place_of(held->tables[t].rows[i]);
        put_gap(packer, static_cast<std::uint64_t>(place - before));
        before = place;
      }
    }
    moved_.bytes_asked += static_cast<std::int64_t>(packer.size());
    requests.push_back(packer.take());
  }
  std::vector<Bytes> answers;
  for (const Bytes& request : swap(std::move(requests))) answers.push_back(answer(request));
  answers = swap(std::move(answers));
  for (int worker = 0; worker < workers(); ++worker) {
    if (worker == rank()) continue;
    Bytes& message = answers[static_cast<std::size_t>(worker)];
    moved_.bytes_fetched += std::ssize(message);
    Unpacker from(message);
    for (const Asked& of : asked[static_cast<std::size_t>(worker)]) {
      const auto t = static_cast<std::size_t>(of.table);
      for (const std::size_t i : of.at) {
        held->tables[t].values[i] = get_row(from, set_.tables[t], held->arena);
      }
      moved_.rows_fetched += std::ssize(of.at);
    }
    message = {};
  }
  return held;
}

// Pointers into a slice that lies in memory, or copies of what was read from a file.
void Courier::read_own(int table, int slice, std::span<const std::size_t> at, HeldRows& held) {
  const auto t = static_cast<std::size_t>(table);
  const std::shared_ptr<const Slice> content = store_.read(table, slice);
  if (content == nullptr) return;
  const bool stays = store_.is_resident(table, slice);
  if (stays) held.alive.push_back(content);
  const std::size_t size = number_bytes(set_.tables[t].number);
  for (const std::size_t i : at) {
    RowValues row = content->row(set_.slices[t].place_of(held.tables[t].rows[i]));
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
}

Bytes Courier::answer(std::span<const std::byte> asked) {
  Packer packer;
  Unpacker from(asked);
  while (!from.empty()) {
    const auto table = from.get<std::int32_t>(), slice = from.get<std::int32_t>(),
               count = from.get<std::int32_t>();
    if (table < 0 || table >= static_cast<std::int32_t>(set_.tables.size()) ||
        !store_.owns(table, slice)) {
      throw Error(ErrorKind::kFailed, "a worker asks for slice {} of table {}, which is not here",
                  slice, table);
    }
    const auto t = static_cast<std::size_t>(table);
    const std::shared_ptr<const Slice> content = store_.read(table, slice);
    const std::int64_t rows = set_.slices[t].rows_of(slice);
    std::int64_t place = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      place += static_cast<std::int64_t>(get_gap(from));
      if (place < 0 || place >= rows) {
        throw Error(ErrorKind::kFailed, "a worker asks for row {} of a slice of {}", place, rows);
      }
      put_row(packer, set_.tables[t], content ? content->row(place) : RowValues{});
    }
  }
  return packer.take();
}

void Courier::push(std::vector<ShardDelta> added) {
  std::vector<Packer> to(static_cast<std::size_t>(workers()));
  for (ShardDelta& of : added) {
    for (SealedDelta& delta : of.slices) {
      const Slices& slices = set_.slices[static_cast<std::size_t>(delta.table)];
      const int owner = slices.owner_of(delta.slice, workers());
      if (owner == rank()) {
        store_.log(delta.table, delta.slice, of.shard, delta.rows);
      } else {
        Packer& packer = to[static_cast<std::size_t>(owner)];
        packer.put(static_cast<std::int32_t>(of.shard));
        packer.put(static_cast<std::int32_t>(delta.table));
        packer.put(static_cast<std::int32_t>(delta.slice));
        packer.put_list(std::span<const std::byte>(delta.rows));
      }
      delta.rows = {};
    }
  }
  if (transport_ == nullptr) return;
  std::vector<Bytes> messages;
  for (Packer& packer : to) {
    moved_.bytes_pushed += static_cast<std::int64_t>(packer.size());
    messages.push_back(packer.take());
  }
  for (const Bytes& message : swap(std::move(messages))) {
    Unpacker from(message);
    while (!from.empty()) {
      const auto shard = from.get<std::int32_t>(), table = from.get<std::int32_t>(),
                 slice = from.get<std::int32_t>();
      const auto rows = from.get_list<std::byte>();
      if (table < 0 || table >= static_cast<std::int32_t>(set_.tables.size()) ||
          !store_.owns(table, slice)) {
        throw Error(ErrorKind::kFailed, "a worker adds to slice {} of table {}, which is not here",
                    slice, table);
      }
      store_.log(table, slice, shard, rows);
    }
  }
}

}  // namespace meanwhile::tables
