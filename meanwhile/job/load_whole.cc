#include "meanwhile/job/load_whole.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/graph/part.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/job/input_check.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace {

using data::Dataset;
using data::RowRange;

template <class T>
std::span<const T> copied(Dataset& to, std::span<const T> values) {
  base::Buffer<T> copy(values.size());
  std::copy(values.begin(), values.end(), copy.begin());
  return own(to, std::move(copy));
}

// Rows `range` of `data`: views of mapped files, else copies, so that the rest can be given back.
Dataset slice(const Dataset& data, RowRange range) {
  Dataset some = data;
  some.x = std::visit(
      [&](const auto& m) -> data::Matrix {
        using M = std::decay_t<decltype(m)>;
        if constexpr (!data::kIsSparse<M>) {
          throw base::Error(base::ErrorKind::kUsage, "rows that a learner reads are sparse");
        } else {
          M mine = m;
          mine.row_start += range.begin;
          mine.rows = range.end - range.begin;
          if (data.mapped) return mine;
          some.owners.clear();
          const std::int64_t first = m.row_start[range.begin];
          const auto size = static_cast<std::size_t>(m.row_start[range.end] - first);
          base::Buffer<std::int64_t> starts(static_cast<std::size_t>(mine.rows) + 1);
          for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = mine.row_start[i] - first;
          mine.row_start = own(some, std::move(starts)).data();
          mine.columns = copied(some, std::span(m.columns + first, size)).data();
          mine.values = copied(some, std::span(m.values + first, size)).data();
          return mine;
        }
      },
      data.x);
  const auto begin = static_cast<std::size_t>(range.begin);
  const auto count = static_cast<std::size_t>(range.end - range.begin);
  if (!data.labels.empty()) {
    some.labels = data.labels.subspan(begin, count);
    if (!data.mapped) some.labels = copied(some, some.labels);
  }
  return some;
}

// The rows of a worker's shards, which follow each other.
RowRange rows_of(const std::vector<data::Shard>& cut, exchange::Range mine) {
  RowRange rows;
  for (const data::Shard& shard : cut) {
    if (shard.index < mine.begin) rows.begin += shard.rows;
    if (shard.index < mine.end) rows.end += shard.rows;
  }
  return rows;
}

std::vector<RowRange> rows_of_workers(const std::vector<data::Shard>& cut, int workers) {
  std::vector<RowRange> rows;
  for (int worker = 0; worker < workers; ++worker) {
    rows.push_back(rows_of(cut, exchange::owned(static_cast<int>(cut.size()), worker, workers)));
  }
  return rows;
}

void check_same_rows(transport::Transport& transport, const std::string& sha256) {
  transport::Packer packer;
  packer.put_text(sha256);
  const auto all = all_gather(transport, packer.bytes());
  for (std::size_t worker = 1; worker < all.size(); ++worker) {
    if (all[worker] == all[0]) continue;
    throw base::Error(base::ErrorKind::kInput,
                      "worker {} has read other rows than worker 0: are their files the same?",
                      worker);
  }
}

}  // namespace

data::Part load_whole(const std::vector<std::filesystem::path>& paths,
                      const std::function<Dataset()>& read, const LoadOptions& options, int threads,
                      transport::Transport* transport, const graph::SpreadOf& spread) {
  const bool alone = transport == nullptr || transport->size() == 1;
  Dataset data;
  const auto read_all = [&] {
    check_shards(options.shards);
    if (!alone) check_paths(paths);
    data = read();
  };
  if (alone) {
    read_all();
  } else {
    agree(*transport, read_all);
  }
  data::Part part = graph::whole(std::move(data), options.shards, threads);
  if (alone) return part;
  check_same_rows(*transport, part.sha256);
  const auto shards = static_cast<int>(part.shards.size());
  const exchange::Range mine = exchange::owned(shards, transport->rank(), transport->size());
  const RowRange rows = rows_of(part.shards, mine);
  if (spread) part.spread = spread(part.data.x, rows_of_workers(part.shards, transport->size()));
  part.data = slice(part.data, rows);
  for (data::Shard& shard : part.shards) {
    if (shard.index < mine.begin || shard.index >= mine.end) shard.blocks = {};
    for (RowRange& block : shard.blocks) {
      block.begin -= rows.begin;
      block.end -= rows.begin;
    }
  }
  return part;
}

}  // namespace meanwhile::job
