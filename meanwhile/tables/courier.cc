// A request lists, for each table and slice, places of rows in ascending order, as gaps in groups
// of seven bits; the answer has the rows in this order, without their numbers.
#include "meanwhile/tables/courier.h"

#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/tables/wanted_rows.h"
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
  std::vector<std::vector<SliceRows>> asked(static_cast<std::size_t>(workers()));  // of each owner
  for (SliceRows& of : list_wanted(set_, wants, kept_.get(), *held)) {
    const Slices& slices = set_.slices[static_cast<std::size_t>(of.table)];
    asked[static_cast<std::size_t>(slices.owner_of(of.slice, workers()))].push_back(std::move(of));
  }
  for (const HeldRows::OfTable& of : held->tables) moved_.rows += std::ssize(of.rows);
  for (const SliceRows& own : asked[static_cast<std::size_t>(rank())]) {
    std::shared_ptr<const Slice> content = store_.read(own.table, own.slice);
    if (content == nullptr) continue;
    take_rows(set_, own, std::move(content), store_.is_resident(own.table, own.slice), *held);
  }
  if (transport_ == nullptr) return held;
  std::vector<Bytes> requests;
  for (int worker = 0; worker < workers(); ++worker) {
    Packer packer;
    for (const SliceRows& of : asked[static_cast<std::size_t>(worker)]) {
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
    for (const SliceRows& of : asked[static_cast<std::size_t>(worker)]) {
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
