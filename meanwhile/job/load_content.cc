// One pass over the rows. A worker packs each row for the owner of its shard, with its label and
// weight, and sends a window of rows at a time; owners put rows in the order in which they come,
// for the deal sorts them by key.
#include "meanwhile/job/load_content.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/data/content.h"
#include "meanwhile/data/release_rows.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/job/input_check.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace {

using data::RowRange;
using transport::Packer;
using transport::Transport;
using transport::Unpacker;

// The worker that owns each shard.
std::vector<int> owners_of(int shards, int workers) {
  std::vector<int> owners(static_cast<std::size_t>(shards));
  for (int worker = 0; worker < workers; ++worker) {
    const exchange::Range own = exchange::owned(shards, worker, workers);
    for (int s = own.begin; s < own.end; ++s) owners[static_cast<std::size_t>(s)] = worker;
  }
  return owners;
}

// The exchange of rows with a matrix of type M.
template <class M>
class ContentExchange {
 public:
  ContentExchange(Transport& transport, const ReadRows& mine, const M& m,
                  const data::ContentDeal& deal, std::size_t step_bytes, data::ContentSpool* spool)
      : transport_(transport),
        mine_(mine),
        m_(m),
        deal_(deal),
        owners_(owners_of(deal.shards, transport.size())),
        keys_(mine.data, deal.seed),
        step_bytes_(step_bytes),
        spool_(spool) {
    if (kSparse) row_start_.resize(1);
  }

  void run() {
    std::int64_t next = mine_.rows.begin;
    for (bool more = true; more;) {
      more = false;
      for (const transport::Bytes& bytes : all_to_all(transport_, pack_window(next))) {
        Unpacker message(bytes);
        more |= message.get<bool>();
        while (!message.empty()) unpack_row(message);
      }
      if (spool_ != nullptr) spool_rows();
    }
  }

  // REQUIRES: run(). The rows of this worker, if they are not in a spool.
  data::Dataset rows() { return dataset(); }

 private:
  using T = typename M::Value;
  static constexpr bool kSparse = data::kIsSparse<M>;

  // Messages with the rows from `next` on that fill a step, by owner.
  std::vector<transport::Bytes> pack_window(std::int64_t& next) {
    const std::int64_t begin = next;
    std::vector<Packer> to_each(owners_.empty() ? 0 : static_cast<std::size_t>(transport_.size()));
    // All workers make all steps, so each says whether it has another one.
    for (Packer& packer : to_each) packer.put(false);
    std::size_t bytes = 0;
    for (; next < mine_.rows.end && bytes < step_bytes_; ++next) {
      const double weight = number(mine_.data.weights, next, 1);
      if (!(weight > 0)) continue;
      const int shard = keys_(next).shard(deal_.shards);
      Packer& packer = to_each[static_cast<std::size_t>(owners_[static_cast<std::size_t>(shard)])];
      const std::size_t before = packer.size();
      pack_row(next, weight, packer);
      bytes += packer.size() - before;
    }
    release({begin, next});
    std::vector<transport::Bytes> messages;
    for (Packer& packer : to_each) {
      messages.push_back(packer.take());
      messages.back().front() = std::byte{next < mine_.rows.end};
    }
    return messages;
  }

  void pack_row(std::int64_t row, double weight, Packer& packer) const {
    packer.put(weight);
    packer.put(number(mine_.data.labels, row, 0));
    if constexpr (kSparse) {
      const auto entries = m_.row(row);
      packer.put_list(entries.columns);
      packer.put_raw(entries.values);
    } else {
      packer.put_raw(m_.row(row));
    }
  }

  void unpack_row(Unpacker& message) {
    append(weights_, message.get<double>());
    append(labels_, message.get<double>());
    std::size_t count = static_cast<std::size_t>(m_.cols);
    if constexpr (kSparse) {
      const std::vector<std::int32_t> columns = message.get_list<std::int32_t>();
      count = columns.size();
      columns_.resize(columns_.size() + count);
      std::copy(columns.begin(), columns.end(), columns_.end() - count);
      append(row_start_, static_cast<std::int64_t>(columns_.size()));
    }
    values_.resize(values_.size() + count);
    message.get_raw(values_.span().last(count));
  }

  template <class Number>
  static void append(base::Buffer<Number>& buffer, Number number) {
    buffer.resize(buffer.size() + 1);
    buffer[buffer.size() - 1] = number;
  }

  static double number(std::span<const double> numbers, std::int64_t row, double otherwise) {
    return numbers.empty() ? otherwise : numbers[static_cast<std::size_t>(row)];
  }

  void release(RowRange rows) const {
    if (mine_.data.mapped) return data::release_rows(m_, rows);
    std::int64_t begin = rows.begin * m_.cols, end = rows.end * m_.cols;
    if constexpr (kSparse) {
      begin = m_.row_start[rows.begin], end = m_.row_start[rows.end];
      base::discard_pages(std::as_bytes(std::span(m_.columns + begin, m_.columns + end)));
    }
    base::discard_pages(std::as_bytes(std::span(m_.values + begin, m_.values + end)));
  }

  void spool_rows() {
    const data::Dataset some = dataset();
    data::ContentKeys keys(some, deal_.seed);
    for (std::int64_t row = 0; row < data::rows(some.x); ++row) {
      spool_->add(some, row, keys(row), some.weights[static_cast<std::size_t>(row)]);
    }
  }

  // Takes the rows that have come.
  data::Dataset dataset() {
    data::Dataset data = data::without_rows(mine_.data);
    const auto rows = static_cast<std::int64_t>(weights_.size());
    data.weights = own(data, std::move(weights_));
    if (mine_.whole.labelled) data.labels = own(data, std::move(labels_));
    if constexpr (kSparse) {
      const std::int64_t* starts = own(data, std::move(row_start_)).data();
      const std::int32_t* columns = own(data, std::move(columns_)).data();
      data.x = M{starts, columns, own(data, std::move(values_)).data(), rows, m_.cols};
    } else {
      data.x = M{own(data, std::move(values_)).data(), rows, m_.cols};
    }
    labels_.resize(0);
    if (kSparse) row_start_.resize(1);
    return data;
  }

  Transport& transport_;
  const ReadRows& mine_;
  const M& m_;
  const data::ContentDeal& deal_;
  const std::vector<int> owners_;
  data::ContentKeys keys_;
  const std::size_t step_bytes_;
  data::ContentSpool* const spool_;  // where rows wait that do not fit into memory; or null
  base::Buffer<double> labels_, weights_;
  base::Buffer<std::int64_t> row_start_;
  base::Buffer<std::int32_t> columns_;
  base::Buffer<T> values_;
};

// The rows of this worker's shards. `mine`: the rows that it read.
data::ContentRows exchange_and_deal(Transport& transport, const ReadRows& mine,
                                    const data::ContentDeal& deal,
                                    const data::ContentMemory& memory, base::Threads threads,
                                    std::size_t step_bytes) {
  const std::int64_t all = data::byte_size(mine.data);
  const std::int64_t rows_here = std::max<std::int64_t>(1, rows(mine.data.x));
  // About as many as every worker gets.
  const auto expected = static_cast<std::int64_t>(
      static_cast<double>(all) / static_cast<double>(rows_here) *
      static_cast<double>(mine.whole.rows) / static_cast<double>(transport.size()));
  const bool spools = memory.bytes > 0 && expected > memory.bytes / 2;
  std::optional<data::ContentSpool> spool;
  data::Dataset data;
  try {
    if (spools) spool.emplace(mine.data, mine.whole.labelled, expected, memory);
    std::visit(
        [&](const auto& m) {
          ContentExchange exchange(transport, mine, m, deal, step_bytes, spool ? &*spool : nullptr);
          exchange.run();
          if (!spool) data = exchange.rows();
        },
        mine.data.x);
  } catch (const std::exception& error) {
    // Out of memory, say: the workers that wait for rows of this one must hear of it.
    transport.fail(base::ErrorKind::kSystem, error.what());
    throw;
  }
  data::ContentRows dealt;
  agree(transport,
        [&] { dealt = spool ? spool->deal(deal, threads) : deal_content(data, deal, threads); });
  return dealt;
}

// The dealt rows of all workers, in numbers.
struct Together {
  data::Whole whole;
  std::vector<std::int64_t> shard_rows;
  data::ContentSum sum;
  data::LabelValues labels;
  std::int64_t bytes = 0;
};

Together add_up(Transport& transport, const data::ContentRows& dealt, bool labelled,
                base::Threads threads) {
  Packer packer;
  agree(transport, [&] {
    const auto labels = label_values(dealt.data, {{0, rows(dealt.data.x)}}, threads);
    packer.put(data::stored(dealt.data.x));
    packer.put(data::row_bytes(dealt.data));
    packer.put(dealt.weighted);
    packer.put(dealt.sum);
    packer.put(labels.too_many);
    packer.put_list(std::span<const double>(labels.values));
    packer.put_list(std::span<const std::int64_t>(dealt.shard_rows));
  });
  Together all;
  all.whole.labelled = labelled;
  all.shard_rows.resize(dealt.shard_rows.size());
  for (const transport::Bytes& bytes : all_gather(transport, packer.bytes())) {
    Unpacker message(bytes);
    all.whole.stored += message.get<std::int64_t>();
    all.bytes += message.get<std::int64_t>();
    all.whole.weighted |= message.get<bool>();
    all.sum.add(message.get<data::ContentSum>());
    const bool too_many = message.get<bool>();
    all.labels = merge(all.labels, {message.get_list<double>(), too_many});
    const auto shard_rows = message.get_list<std::int64_t>();
    for (std::size_t s = 0; s < shard_rows.size(); ++s) {
      all.shard_rows[s] += shard_rows[s];
      all.whole.rows += shard_rows[s];
    }
  }
  return all;
}

}  // namespace

bool is_small(Transport& transport, const ReadRows& mine, base::Threads threads) {
  std::vector<data::ContentKey> keys;
  agree(transport, [&] { keys = data::distinct_keys(mine.data, mine.rows, threads); });
  const auto all = all_gather(transport, std::as_bytes(std::span(keys)));
  keys.clear();
  for (const transport::Bytes& bytes : all) {
    std::vector<data::ContentKey> theirs(bytes.size() / sizeof(data::ContentKey));
    Unpacker(bytes).get_raw(std::span(theirs));
    if (std::ssize(theirs) > data::kSmallRows) return false;
    keys.insert(keys.end(), theirs.begin(), theirs.end());
  }
  std::sort(keys.begin(), keys.end());
  return std::unique(keys.begin(), keys.end()) - keys.begin() <= data::kSmallRows;
}

data::Part load_content(Transport& transport, const ReadRows& mine, const LoadOptions& options,
                        base::Threads threads, std::size_t step_bytes) {
  data::ContentDeal deal{options.shards, options.seed, options.merge};
  if (options.shards == 0) deal.shards = data::default_shards(0);
  data::ContentRows dealt =
      exchange_and_deal(transport, mine, deal, options.memory, threads, step_bytes);
  Together all = add_up(transport, dealt, mine.whole.labelled, threads);
  // How large the data is shows only now, when equal rows are one.
  const int shards = options.shards == 0 ? data::default_shards(all.bytes) : options.shards;
  if (shards != deal.shards) {
    deal.shards = shards;
    const data::Dataset again = std::exchange(dealt.data, {});
    dealt = exchange_and_deal(transport, {again, {0, rows(again.x)}, all.whole}, deal,
                              options.memory, threads, step_bytes);
    all = add_up(transport, dealt, mine.whole.labelled, threads);
  }
  check_weights(mine.whole.rows, all.whole.rows);
  data::Part part;
  part.deal = data::Deal::kContent;
  part.shards = content_shards(dealt, all.shard_rows);
  part.rows = all.whole.rows;
  part.read_rows = mine.whole.rows;
  part.stored = all.whole.stored;
  part.labelled = all.whole.labelled;
  part.weighted = all.whole.weighted;
  part.sha256 = content_sha256(dealt.data, all.whole, all.sum);
  part.label_values = std::move(all.labels.values);
  part.data = std::move(dealt.data);
  if (!part.weighted) part.data.weights = {};
  return part;
}

}  // namespace meanwhile::job
