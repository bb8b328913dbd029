// Two passes over the rows: what there is one of for each row (its length, label, weight), then
// values and columns, whose places are known once all lengths are. A pass goes in steps; in each a
// node sends the next window of its rows, cut at blocks, and puts what it gets in place. Messages
// are runs of (first row, end row, payload), so that a receiver needs to know nothing of who read
// what; a block that two nodes read in part is joined by coming to one place.
#include "meanwhile/job/redistribute.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace {

using base::Error;
using base::ErrorKind;
using data::RowRange;
using exchange::owned;
using exchange::Range;
using transport::Packer;
using transport::Unpacker;
using Index = std::size_t;

Index at(std::int64_t i) { return static_cast<Index>(i); }

template <class T>
std::span<const T> slice(const T* values, std::int64_t begin, std::int64_t end) {
  return {values + begin, at(end - begin)};
}

// Gives back the pages that lie wholly in `values`, which nobody reads any more.
template <class T>
void forget(const T* values, std::int64_t begin, std::int64_t end) {
  constexpr std::uintptr_t kPages = std::uintptr_t{64} << 10;  // whole pages, whatever their size
  const auto first = (reinterpret_cast<std::uintptr_t>(values + begin) + kPages - 1) / kPages;
  const auto last = reinterpret_cast<std::uintptr_t>(values + end) / kPages;
  if (first >= last) return;
  base::release_mapped({reinterpret_cast<const std::byte*>(first * kPages),
                        static_cast<std::size_t>(last - first) * kPages});
}

// Who owns each block, and where the blocks of this node lie.
struct Places {
  Places(const std::vector<data::Shard>& dealt, int rank, int nodes) {
    std::int64_t all = 0;
    for (const data::Shard& shard : dealt) all += shard.rows;
    block_rows = data::block_rows(all);
    const int shards = static_cast<int>(dealt.size());
    std::int64_t blocks = 0;
    for (const data::Shard& shard : dealt) blocks += static_cast<std::int64_t>(shard.blocks.size());
    owner.resize(at(blocks));
    row.resize(at(blocks));
    for (int node = 0; node < nodes; ++node) {
      const Range range = owned(shards, node, nodes);
      for (int s = range.begin; s < range.end; ++s) {
        for (const RowRange& block : dealt[static_cast<Index>(s)].blocks) {
          owner[at(block.begin / block_rows)] = node;
        }
      }
    }
    for (const RowRange& block : owned_blocks(dealt, rank, nodes)) {
      row[at(block.begin / block_rows)] = rows;
      rows += block.end - block.begin;
    }
  }
  // The row here of a row of the whole. REQUIRES: this node owns it.
  std::int64_t local(std::int64_t global) const {
    return row[at(global / block_rows)] + global % block_rows;
  }

  std::int64_t block_rows = 1;
  std::vector<int> owner;  // of each block
  std::vector<std::int64_t> row;
  std::int64_t rows = 0;  // of this node
};

class Travel {
 public:
  Travel(transport::Transport& transport, const std::vector<RowRange>& read, const Places& places)
      : transport_(transport), read_(read), places_(places) {}

  // pack: rows [begin, end) of those read, into a message. unpack: as many rows of a message into
  // rows [begin, end) of this node. window_end: the row read behind the window that begins at one.
  // sent: those rows are not needed any more.
  struct Pass {
    std::function<std::int64_t(std::int64_t)> window_end;
    std::function<void(RowRange, Packer&)> pack;
    std::function<void(RowRange, Unpacker&)> unpack;
    std::function<void(RowRange)> sent;
  };

  void run(const Pass& pass) {
    std::int64_t rows = 0, arrived = 0;
    for (const RowRange& range : read_) rows += range.end - range.begin;
    std::int64_t begin = 0;
    Index range = 0;
    std::int64_t in_range = 0;
    for (bool more = true; more;) {
      const std::int64_t end = begin < rows ? std::min(rows, pass.window_end(begin)) : rows;
      std::vector<Packer> to_each(static_cast<Index>(transport_.size()));
      // All steps are made by all: whether this node has another one goes along.
      for (Packer& packer : to_each) packer.put(end < rows);
      for (std::int64_t row = begin; row < end;) {
        const std::int64_t global = read_[range].begin + in_range;
        const std::int64_t block_rows = places_.block_rows, block = global / block_rows;
        const std::int64_t count =
            std::min({end - row, read_[range].end - global, (block + 1) * block_rows - global});
        Packer& packer = to_each[static_cast<Index>(places_.owner[at(block)])];
        packer.put(RowRange{global, global + count});
        pass.pack({row, row + count}, packer);
        row += count;
        in_range += count;
        if (read_[range].begin + in_range == read_[range].end) {
          ++range;
          in_range = 0;
        }
      }
      pass.sent({begin, end});
      begin = end;
      std::vector<transport::Bytes> messages;
      for (Packer& packer : to_each) messages.push_back(packer.take());
      more = false;
      for (const transport::Bytes& bytes : all_to_all(transport_, std::move(messages))) {
        Unpacker message(bytes);
        more |= message.get<bool>();
        while (!message.empty()) {
          const auto global = message.get<RowRange>();
          const std::int64_t first = places_.local(global.begin);
          const std::int64_t count = global.end - global.begin;
          pass.unpack({first, first + count}, message);
          arrived += count;
        }
      }
    }
    if (arrived != places_.rows) {
      throw Error(ErrorKind::kFailed, "redistribution of rows: {} rows came, expected {}", arrived,
                  places_.rows);
    }
  }

 private:
  transport::Transport& transport_;
  const std::vector<RowRange>& read_;
  const Places& places_;
};

template <class V>
std::span<V> part_of(base::Buffer<V>& buffer, std::int64_t begin, std::int64_t end) {
  return buffer.span().subspan(at(begin), at(end - begin));
}

template <class M>
data::Dataset travel(transport::Transport& transport, const data::SomeRows& mine, const M& m,
                     const Places& places, std::size_t step_bytes) {
  using T = typename M::Value;
  constexpr bool kSparse = data::kIsSparse<M>;
  const auto most = static_cast<std::int64_t>(step_bytes);
  Travel rows(transport, mine.rows, places);
  const bool labelled = mine.whole.labelled, weighted = mine.whole.weighted;
  base::Buffer<double> labels(labelled ? at(places.rows) : 0),
      weights(weighted ? at(places.rows) : 0);
  base::Buffer<std::int64_t> row_start(kSparse ? at(places.rows) + 1 : 0);

  const std::int64_t rows_a_step = std::max<std::int64_t>(most / 24, 1);
  Travel::Pass first;
  first.window_end = [&](std::int64_t row) { return row + rows_a_step; };
  first.pack = [&](RowRange r, Packer& packer) {
    if constexpr (kSparse) {
      for (std::int64_t i = r.begin; i < r.end; ++i)
        packer.put(m.row_start[i + 1] - m.row_start[i]);
    }
    if (labelled) packer.put_raw(slice(mine.data.labels.data(), r.begin, r.end));
    if (weighted) packer.put_raw(slice(mine.data.weights.data(), r.begin, r.end));
  };
  first.unpack = [&](RowRange r, Unpacker& message) {
    if constexpr (kSparse) message.get_raw(part_of(row_start, r.begin + 1, r.end + 1));
    if (labelled) message.get_raw(part_of(labels, r.begin, r.end));
    if (weighted) message.get_raw(part_of(weights, r.begin, r.end));
  };
  first.sent = [](RowRange) {};
  if (kSparse || labelled || weighted) rows.run(first);
  for (Index i = 1; i < row_start.size(); ++i) row_start[i] += row_start[i - 1];

  // Where the values of a row begin, there and here.
  const auto from = [&](std::int64_t row) {
    if constexpr (kSparse) return m.row_start[row];
    return row * m.cols;
  };
  const auto to = [&](std::int64_t row) {
    if constexpr (kSparse) return row_start[at(row)];
    return row * m.cols;
  };
  const std::int64_t count = to(places.rows);
  base::Buffer<T> values(at(count));
  base::Buffer<std::int32_t> columns(kSparse ? at(count) : 0);
  Travel::Pass second;
  second.window_end = [&](std::int64_t row) {
    const std::int64_t limit = from(row) + most / std::int64_t{sizeof(T) + (kSparse ? 4 : 0)};
    if constexpr (kSparse) {
      const auto* end = std::upper_bound(m.row_start + row + 1, m.row_start + m.rows + 1, limit);
      return std::max<std::int64_t>(row + 1, end - m.row_start - 1);
    }
    return std::max(row + 1, limit / m.cols);
  };
  second.pack = [&](RowRange r, Packer& packer) {
    packer.put_raw(slice(m.values, from(r.begin), from(r.end)));
    if constexpr (kSparse) packer.put_raw(slice(m.columns, from(r.begin), from(r.end)));
  };
  second.unpack = [&](RowRange r, Unpacker& message) {
    message.get_raw(part_of(values, to(r.begin), to(r.end)));
    if constexpr (kSparse) message.get_raw(part_of(columns, to(r.begin), to(r.end)));
  };
  second.sent = [&](RowRange r) {
    forget(m.values, from(r.begin), from(r.end));
    if constexpr (kSparse) forget(m.columns, from(r.begin), from(r.end));
  };
  rows.run(second);

  data::Dataset data;
  data.class_names = mine.data.class_names;
  data.feature_names = mine.data.feature_names;
  data.labels = own(data, std::move(labels));
  data.weights = own(data, std::move(weights));
  if constexpr (kSparse) {
    const std::int64_t* starts = own(data, std::move(row_start)).data();
    const std::int32_t* column = own(data, std::move(columns)).data();
    data.x = M{starts, column, own(data, std::move(values)).data(), places.rows, m.cols};
  } else {
    data.x = M{own(data, std::move(values)).data(), places.rows, m.cols};
  }
  return data;
}

}  // namespace

std::vector<RowRange> owned_blocks(const std::vector<data::Shard>& dealt, int rank, int nodes) {
  const Range range = owned(static_cast<int>(dealt.size()), rank, nodes);
  std::vector<RowRange> blocks;
  for (int s = range.begin; s < range.end; ++s) {
    const auto& more = dealt[static_cast<Index>(s)].blocks;
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const RowRange& a, const RowRange& b) { return a.begin < b.begin; });
  return blocks;
}

data::Dataset redistribute(transport::Transport& transport, data::SomeRows mine,
                           const std::vector<data::Shard>& dealt, std::size_t step_bytes) {
  const Places places(dealt, transport.rank(), transport.size());
  return std::visit([&](const auto& m) { return travel(transport, mine, m, places, step_bytes); },
                    mine.data.x);
}

}  // namespace meanwhile::job
