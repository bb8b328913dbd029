#include "meanwhile/job/replicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/data/shard_buffer.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/redistribute.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

using base::Error;
using base::ErrorKind;
using base::parameter;
using data::RowRange;
using exchange::Range;

namespace {

// Whether every worker has every row at its number in the whole data set, as in a mapped file.
bool all_rows_everywhere(transport::Transport& transport, const data::Part& part) {
  const std::byte here{data::rows(part.data.x) == part.rows};
  const auto all = transport::all_gather(transport, {&here, 1});
  return std::ranges::all_of(all, [](const auto& bytes) { return bytes[0] != std::byte{0}; });
}

data::Dataset with_replicas(transport::Transport& transport, data::Part& part,
                            const std::vector<data::Shard>& dealt, const std::vector<Range>& held) {
  data::SomeRows mine;
  mine.rows = owned_blocks(dealt, transport.rank(), transport.size());
  mine.whole = {part.rows, part.stored, part.labelled, part.weighted};
  mine.data = std::move(part.data);
  const data::Dataset names = [&] {  // all that is no row
    data::Dataset rest;
    rest.unknown = mine.data.unknown;
    rest.table = mine.data.table;
    rest.notes = mine.data.notes;
    return rest;
  }();
  data::Dataset data;
  try {
    data = redistribute(transport, std::move(mine), dealt, std::size_t{16} << 20, held);
  } catch (const std::exception& error) {
    transport.fail(ErrorKind::kSystem, error.what());
    throw;
  }
  data.unknown = names.unknown;
  data.table = names.table;
  data.notes = names.notes;
  return data;
}

// The rows of a shard as bytes of a message.
transport::Bytes pack_shard(const data::Dataset& data, const data::Shard& shard) {
  const data::Dataset rows = data::shard_file(data, shard).rows;
  transport::Packer packer;
  packer.put_raw(rows.labels);
  packer.put_raw(rows.weights);
  std::visit(
      [&](const auto& m) {
        const auto count = static_cast<std::size_t>(data::stored(rows.x));
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
          packer.put_raw(std::span(m.row_start, static_cast<std::size_t>(m.rows) + 1));
          packer.put_raw(std::span(m.columns, count));
        }
        packer.put_raw(std::span(m.values, count));
      },
      rows.x);
  return packer.take();
}

template <class T>
std::span<const T> unpack(transport::Unpacker& message, std::int64_t count, data::Dataset& to) {
  base::Buffer<T> numbers(static_cast<std::size_t>(count));
  message.get_raw(numbers.span());
  return own(to, std::move(numbers));
}

// `like`: data of the same type.
data::Dataset unpack_shard(const transport::Bytes& bytes, const data::Outline& outline,
                           std::size_t shard, const data::Matrix& like) {
  const std::int64_t rows = outline.shard_rows[shard], stored = outline.shard_stored[shard];
  transport::Unpacker message(bytes);
  data::Dataset data;
  if (outline.labelled) data.labels = unpack<double>(message, rows, data);
  if (outline.weighted) data.weights = unpack<double>(message, rows, data);
  data.x = std::visit(
      [&](auto m) -> data::Matrix {
        using M = decltype(m);
        if constexpr (data::kIsSparse<M>) {
          m.row_start = unpack<std::int64_t>(message, rows + 1, data).data();
          m.columns = unpack<std::int32_t>(message, stored, data).data();
        }
        m.values = unpack<typename M::Value>(message, stored, data).data();
        m.rows = rows;
        return m;
      },
      like);
  return data;
}

// Rows dealt by content have no numbers by which their shards are known, so shards travel whole:
// each from its owner to its other holders, one shard after the other.
void replicate_shards(transport::Transport& transport, data::Part& part) {
  const auto shards = static_cast<int>(part.shards.size());
  data::Outline outline = data::outline_of(part);
  const auto stored =
      transport::all_gather(transport, std::as_bytes(std::span(outline.shard_stored)));
  std::fill(outline.shard_stored.begin(), outline.shard_stored.end(), 0);
  for (const transport::Bytes& bytes : stored) {
    std::vector<std::int64_t> theirs(outline.shard_stored.size());
    transport::Unpacker(bytes).get_raw(std::span(theirs));
    for (std::size_t s = 0; s < theirs.size(); ++s) outline.shard_stored[s] += theirs[s];
  }
  const auto buffer = std::make_shared<data::ShardBuffer>(outline);
  std::set<int> mine;
  for (int s = 0; s < shards; ++s) {
    const auto shard = static_cast<std::size_t>(s);
    const auto has = [&](Range range) { return range.begin <= s && s < range.end; };
    const bool own = has(exchange::owned(shards, transport.rank(), transport.size()));
    std::vector<transport::Bytes> to_each(static_cast<std::size_t>(transport.size()));
    for (int rank = 0; own && rank < transport.size(); ++rank) {
      if (!has(exchange::held(shards, rank, transport.size()))) continue;
      to_each[static_cast<std::size_t>(rank)] = pack_shard(part.data, part.shards[shard]);
    }
    const auto got = transport::all_to_all(transport, std::move(to_each));
    if (!has(exchange::held(shards, transport.rank(), transport.size()))) continue;
    mine.insert(s);
    for (int rank = 0; rank < transport.size(); ++rank) {
      if (!has(exchange::owned(shards, rank, transport.size()))) continue;
      buffer->fill(s,
                   unpack_shard(got[static_cast<std::size_t>(rank)], outline, shard, part.data.x));
    }
  }
  data::Part all = buffer->part(mine);
  all.data.unknown = part.data.unknown;
  all.data.notes = part.data.notes;
  all.data.owners.push_back(buffer);
  part = std::move(all);
}

}  // namespace

void check_replicas(const SettledRun& run) {
  if (run.spec.replicas == 1) return;
  if (run.spec.replicas != 2) {
    throw Error(ErrorKind::kUsage, "{}: found {}, expected 1 or 2", parameter("replicas"),
                run.spec.replicas);
  }
  if (run.is_fresh()) {
    throw Error(ErrorKind::kUsage,
                "{}: with fresh reads no worker waits for another's shards; give {} 1 or 0",
                parameter("replicas"), parameter("staleness"));
  }
  if (run.entry->dial(run.parameters)) return;
  throw Error(ErrorKind::kUsage,
              "{}: a worker of {} keeps what it computed of its shards from round to round, so no "
              "other can take them; replicas are for stochastic steps, as linear models take with "
              "`solver` sgd and lda takes",
              parameter("replicas"), run.entry->name);
}

void check_replicas(const RunSpec& spec, const Deployment& deployment) {
  if (spec.replicas == 1) return;
  if (deployment.medium == Medium::kStorage) {
    throw Error(ErrorKind::kUsage,
                "{}: workers of a store read any shard, so a straggler's are taken already",
                parameter("replicas"));
  }
  if (deployment.workers == 1) {
    throw Error(ErrorKind::kUsage,
                "{}: is for several workers with rows of their own, as mpirun starts them; the "
                "threads of one process share all rows",
                parameter("replicas"));
  }
}

void replicate(transport::Transport& transport, data::Part& part, std::uint64_t seed) {
  if (part.deal == data::Deal::kContent) {
    try {
      return replicate_shards(transport, part);
    } catch (const std::exception& error) {
      transport.fail(ErrorKind::kSystem, error.what());
      throw;
    }
  }
  const auto shards = static_cast<int>(part.shards.size());
  std::vector<data::Shard> dealt = data::deal(part.rows, shards, seed);
  std::vector<Range> all;
  for (int rank = 0; rank < transport.size(); ++rank) {
    all.push_back(exchange::held(shards, rank, transport.size()));
  }
  const Range mine = all[static_cast<std::size_t>(transport.rank())];
  const bool stay = all_rows_everywhere(transport, part);
  if (!stay) part.data = with_replicas(transport, part, dealt, all);
  const std::vector<RowRange> here = blocks_in(dealt, mine);
  for (data::Shard& shard : dealt) {
    if (shard.index < mine.begin || shard.index >= mine.end) shard.blocks = {};
    for (RowRange& block : shard.blocks) {
      if (!stay) block = local_block(here, block, data::block_rows(part.rows));
    }
  }
  part.shards = std::move(dealt);
}

void replicate(transport::Transport& transport, LoadedRun& loaded, std::uint64_t seed,
               Observer& observer) {
  replicate(transport, loaded.part, seed);
  if (loaded.eval) replicate(transport, *loaded.eval, seed);
  const auto shards = static_cast<int>(loaded.part.shards.size());
  const Range own = exchange::owned(shards, transport.rank(), transport.size());
  std::int64_t mine = 0, others = 0;
  for (const data::Shard& shard : loaded.part.shards) {
    if (shard.blocks.empty()) continue;
    (own.begin <= shard.index && shard.index < own.end ? mine : others) += shard.rows;
  }
  observer.note(fmt::format(
      "replicas: worker {} holds {} of its neighbours beside {} of its own, and needs memory for "
      "both",
      transport.rank(), base::counted(others, "row"), mine));
}

}  // namespace meanwhile::job
