#include "meanwhile/job/replicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/redistribute.h"
#include "meanwhile/transport/collect.h"

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
