// Two passes over the rows. The first carries what there is one of for each row: its length, label
// and weight. The second carries values and columns, whose places are known once all lengths are.
// A pass goes in steps: in each step a worker sends the next window of its rows, cut at blocks, and
// puts the rows that it receives in place. Messages are runs of (first row, end row, payload), so a
// receiver need not know which worker read which rows; a block that two workers read in part is
// joined at its place.
#include "meanwhile/job/redistribute.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/error.h"
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

template <class T>
std::span<T> slice(base::Buffer<T>& buffer, std::int64_t begin, std::int64_t end) {
  return buffer.span().subspan(at(begin), at(end - begin));
}

// The workers that hold each block, and where the blocks of this worker lie.
struct Placement {
  // `held`: the shards of each worker.
  Placement(const std::vector<data::Shard>& dealt, int rank, std::span<const Range> held) {
    std::int64_t all_rows = 0;
    Index blocks = 0;
    for (const data::Shard& shard : dealt) {
      all_rows += shard.rows;
      blocks += shard.blocks.size();
    }
    block_rows = data::block_rows(all_rows);
    holders.resize(blocks);
    first_row.resize(blocks);
    for (int worker = 0; worker < static_cast<int>(held.size()); ++worker) {
      for (const RowRange& block : blocks_in(dealt, held[static_cast<Index>(worker)])) {
        holders[block_of(block.begin)].push_back(worker);
        if (worker != rank) continue;
        first_row[block_of(block.begin)] = rows;
        rows += block.end - block.begin;
      }
    }
  }
  Index block_of(std::int64_t row) const { return at(row / block_rows); }
  // The row of this worker that is row `row` of the whole data set. REQUIRES: this worker holds it.
  std::int64_t local(std::int64_t row) const { return first_row[block_of(row)] + row % block_rows; }

  std::int64_t block_rows = 1;
  std::vector<std::vector<int>> holders;  // by block
  std::vector<std::int64_t> first_row;    // by block: its first row here, if this worker holds it
  std::int64_t rows = 0;                  // of this worker
};

// Brings rows from the workers that read them to the workers that hold them.
class RowExchange {
 public:
  // Borrows all. `read`: the rows that this worker read, as rows of the whole data set.
  RowExchange(transport::Transport& transport, const std::vector<RowRange>& read,
              const Placement& placement)
      : transport_(transport), read_(read), placement_(placement) {
    for (const RowRange& range : read_) rows_ += range.end - range.begin;
  }

  // Rows are numbered as this worker read them, or in unpack() as this worker will hold them.
  struct Pass {
    // The row behind the window that begins at a row.
    std::function<std::int64_t(std::int64_t)> window_end;
    std::function<void(RowRange, Packer&)> pack;
    std::function<void(RowRange, Unpacker&)> unpack;
    std::function<void(RowRange)> sent;  // these rows are not needed any more
  };

  // Collective. THROWS Error(kFailed) if other rows arrive than this worker holds; what the
  // transport throws.
  void run(const Pass& pass) {
    Position next;
    std::int64_t arrived = 0;
    for (bool more = true; more;) {
      more = false;
      for (const transport::Bytes& bytes : all_to_all(transport_, pack_window(pass, next))) {
        Unpacker message(bytes);
        more |= message.get<bool>();
        arrived += unpack_rows(pass, message);
      }
    }
    if (arrived == placement_.rows) return;
    throw Error(ErrorKind::kFailed, "redistribution of rows: {} rows came, expected {}", arrived,
                placement_.rows);
  }

 private:
  // A row that this worker read: number `row` of all of them, and `in_range` of read_[range].
  struct Position {
    std::int64_t row = 0;
    Index range = 0;
    std::int64_t in_range = 0;
  };

  // Messages with the rows of the next window, by holder.
  std::vector<transport::Bytes> pack_window(const Pass& pass, Position& next) const {
    const std::int64_t begin = next.row;
    const std::int64_t end = begin < rows_ ? std::min(rows_, pass.window_end(begin)) : rows_;
    std::vector<Packer> to_each(static_cast<Index>(transport_.size()));
    // All workers make all steps, so each says whether it has another one.
    for (Packer& packer : to_each) packer.put(end < rows_);
    while (next.row < end) {
      const RowRange run = next_run(next, end);
      const std::int64_t count = run.end - run.begin;
      for (const int holder : placement_.holders[placement_.block_of(run.begin)]) {
        Packer& packer = to_each[static_cast<Index>(holder)];
        packer.put(run);
        pass.pack({next.row, next.row + count}, packer);
      }
      next.row += count;
      next.in_range += count;
      if (run.end == read_[next.range].end) next = {next.row, next.range + 1, 0};
    }
    pass.sent({begin, end});
    std::vector<transport::Bytes> messages;
    for (Packer& packer : to_each) messages.push_back(packer.take());
    return messages;
  }

  // The rows from `next` on that lie in one range and one block, and before row `end`; as rows of
  // the whole data set.
  RowRange next_run(const Position& next, std::int64_t end) const {
    const RowRange& range = read_[next.range];
    const std::int64_t begin = range.begin + next.in_range;
    const std::int64_t block_end = (begin / placement_.block_rows + 1) * placement_.block_rows;
    return {begin, std::min({begin + end - next.row, range.end, block_end})};
  }

  // Returns the number of rows in the message.
  std::int64_t unpack_rows(const Pass& pass, Unpacker& message) const {
    std::int64_t rows = 0;
    while (!message.empty()) {
      const auto run = message.get<RowRange>();
      const std::int64_t first = placement_.local(run.begin), count = run.end - run.begin;
      pass.unpack({first, first + count}, message);
      rows += count;
    }
    return rows;
  }

  transport::Transport& transport_;
  const std::vector<RowRange>& read_;
  const Placement& placement_;
  std::int64_t rows_ = 0;  // that this worker read
};

// The redistribution of rows with a matrix of type M.
template <class M>
class Redistribution {
 public:
  Redistribution(transport::Transport& transport, const data::SomeRows& mine, const M& m,
                 const Placement& placement, std::size_t step_bytes)
      : mine_(mine),
        m_(m),
        rows_(placement.rows),
        step_bytes_(static_cast<std::int64_t>(step_bytes)),
        exchange_(transport, mine.rows, placement) {}

  data::Dataset run() {
    exchange_rows();
    exchange_values();
    return dataset();
  }

 private:
  using T = typename M::Value;
  static constexpr bool kSparse = data::kIsSparse<M>;

  // Lengths, labels and weights.
  void exchange_rows() {
    const bool labelled = mine_.whole.labelled, weighted = mine_.whole.weighted;
    if (!kSparse && !labelled && !weighted) return;
    labels_.resize(labelled ? at(rows_) : 0);
    weights_.resize(weighted ? at(rows_) : 0);
    row_start_.resize(kSparse ? at(rows_) + 1 : 0);

    RowExchange::Pass pass;
    const std::int64_t rows_a_step = std::max<std::int64_t>(step_bytes_ / 24, 1);
    pass.window_end = [&](std::int64_t row) { return row + rows_a_step; };
    pass.pack = [&](RowRange r, Packer& packer) {
      if constexpr (kSparse) {
        for (std::int64_t i = r.begin; i < r.end; ++i) {
          packer.put(m_.row_start[i + 1] - m_.row_start[i]);
        }
      }
      if (labelled) packer.put_raw(slice(mine_.data.labels.data(), r.begin, r.end));
      if (weighted) packer.put_raw(slice(mine_.data.weights.data(), r.begin, r.end));
    };
    pass.unpack = [&](RowRange r, Unpacker& message) {
      if constexpr (kSparse) message.get_raw(slice(row_start_, r.begin + 1, r.end + 1));
      if (labelled) message.get_raw(slice(labels_, r.begin, r.end));
      if (weighted) message.get_raw(slice(weights_, r.begin, r.end));
    };
    pass.sent = [](RowRange) {};
    exchange_.run(pass);
    for (Index i = 1; i < row_start_.size(); ++i) row_start_[i] += row_start_[i - 1];
  }

  // REQUIRES: exchange_rows() has run.
  void exchange_values() {
    const std::int64_t count = first_value_here(rows_);
    values_.resize(at(count));
    columns_.resize(kSparse ? at(count) : 0);

    RowExchange::Pass pass;
    pass.window_end = [&](std::int64_t row) { return window_end(row); };
    pass.pack = [&](RowRange r, Packer& packer) {
      const std::int64_t begin = first_value_read(r.begin), end = first_value_read(r.end);
      packer.put_raw(slice(m_.values, begin, end));
      if constexpr (kSparse) packer.put_raw(slice(m_.columns, begin, end));
    };
    pass.unpack = [&](RowRange r, Unpacker& message) {
      const std::int64_t begin = first_value_here(r.begin), end = first_value_here(r.end);
      message.get_raw(slice(values_, begin, end));
      if constexpr (kSparse) message.get_raw(slice(columns_, begin, end));
    };
    pass.sent = [&](RowRange r) {
      const std::int64_t begin = first_value_read(r.begin), end = first_value_read(r.end);
      base::discard_pages(std::as_bytes(slice(m_.values, begin, end)));
      if constexpr (kSparse) base::discard_pages(std::as_bytes(slice(m_.columns, begin, end)));
    };
    exchange_.run(pass);
  }

  data::Dataset dataset() {
    data::Dataset data;
    data.class_names = mine_.data.class_names;
    data.feature_names = mine_.data.feature_names;
    data.counts_from_one = mine_.data.counts_from_one;
    data.labels = own(data, std::move(labels_));
    data.weights = own(data, std::move(weights_));
    if constexpr (kSparse) {
      const std::int64_t* starts = own(data, std::move(row_start_)).data();
      const std::int32_t* columns = own(data, std::move(columns_)).data();
      data.x = M{starts, columns, own(data, std::move(values_)).data(), rows_, m_.cols};
    } else {
      data.x = M{own(data, std::move(values_)).data(), rows_, m_.cols};
    }
    return data;
  }

  // Where the values of a row begin: among those read, and among those of this worker.
  std::int64_t first_value_read(std::int64_t row) const {
    if constexpr (kSparse) return m_.row_start[row];
    return row * m_.cols;
  }
  std::int64_t first_value_here(std::int64_t row) const {
    if constexpr (kSparse) return row_start_[at(row)];
    return row * m_.cols;
  }

  // The row behind the longest run of rows from `row` on whose values fit into a step, at least
  // one.
  std::int64_t window_end(std::int64_t row) const {
    constexpr std::int64_t kEntryBytes = sizeof(T) + (kSparse ? sizeof(std::int32_t) : 0);
    const std::int64_t limit = first_value_read(row) + step_bytes_ / kEntryBytes;
    if constexpr (kSparse) {
      const auto* end = std::upper_bound(m_.row_start + row + 1, m_.row_start + m_.rows + 1, limit);
      return std::max<std::int64_t>(row + 1, end - m_.row_start - 1);
    }
    return std::max(row + 1, limit / m_.cols);
  }

  const data::SomeRows& mine_;
  const M& m_;
  const std::int64_t rows_;  // that this worker will hold
  const std::int64_t step_bytes_;
  RowExchange exchange_;
  base::Buffer<double> labels_, weights_;
  base::Buffer<std::int64_t> row_start_;
  base::Buffer<std::int32_t> columns_;
  base::Buffer<T> values_;
};

}  // namespace

std::vector<RowRange> blocks_in(const std::vector<data::Shard>& dealt, Range shards) {
  std::vector<RowRange> blocks;
  for (int s = shards.begin; s < shards.end; ++s) {
    const auto& more = dealt[static_cast<Index>(s)].blocks;
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const RowRange& a, const RowRange& b) { return a.begin < b.begin; });
  return blocks;
}

std::vector<RowRange> owned_blocks(const std::vector<data::Shard>& dealt, int rank, int workers) {
  return blocks_in(dealt, owned(static_cast<int>(dealt.size()), rank, workers));
}

// All blocks have block_rows rows but the last of the data set, which has none after it.
RowRange local_block(std::span<const RowRange> held, RowRange block, std::int64_t block_rows) {
  const auto found =
      std::lower_bound(held.begin(), held.end(), block.begin,
                       [](const RowRange& a, std::int64_t row) { return a.begin < row; });
  const std::int64_t begin = (found - held.begin()) * block_rows;
  return {begin, begin + block.end - block.begin};
}

data::Dataset redistribute(transport::Transport& transport, data::SomeRows mine,
                           const std::vector<data::Shard>& dealt, std::size_t step_bytes,
                           std::span<const Range> held) {
  std::vector<Range> all(held.begin(), held.end());
  for (int worker = 0; held.empty() && worker < transport.size(); ++worker) {
    all.push_back(owned(static_cast<int>(dealt.size()), worker, transport.size()));
  }
  const Placement placement(dealt, transport.rank(), all);
  return std::visit(
      [&](const auto& m) {
        return Redistribution(transport, mine, m, placement, step_bytes).run();
      },
      mine.data.x);
}

}  // namespace meanwhile::job
