// A bucket is a range of keys, so that the rows of a shard are those of the first bucket, then
// those of the second, and so on: buckets are dealt one after the other, each into spools of its
// numbers, and the last pass copies the stretches of a shard together. All disk access is
// sequential but for that last pass, which reads shards x buckets stretches.
#include "meanwhile/data/files/content_spool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/release_rows.h"

namespace meanwhile::data {

namespace {

constexpr std::int64_t kMostBuckets = 256;
// A bucket gets this part of the memory, for it is there as it was read, as rows and as dealt rows.
constexpr std::int64_t kBucketShare = 8;

template <class T>
void put(std::vector<std::byte>& to, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class T>
void take(std::span<const std::byte>& from, std::span<T> values) {
  if (!values.empty()) std::memcpy(values.data(), from.data(), values.size_bytes());
  from = from.subspan(values.size_bytes());
}

template <class T>
std::span<const std::byte> bytes_of(const T* values, std::int64_t count) {
  return std::as_bytes(std::span(values, static_cast<std::size_t>(count)));
}

}  // namespace

// The spools hold the numbers of every row as dealt: bucket by bucket, there shard by shard.
struct ContentSpool::Dealt {
  explicit Dealt(const std::filesystem::path& folder)
      : lengths(folder), labels(folder), weights(folder), columns(folder), values(folder) {}

  Spool lengths, labels, weights, columns, values;
  std::vector<std::vector<std::int64_t>> rows, stored;  // by bucket, by shard
  bool weighted = false;
  ContentSum sum;
  std::int64_t bytes = 0;
};

ContentSpool::ContentSpool(const Dataset& like, bool labelled, std::int64_t expected,
                           const ContentMemory& memory)
    : like_(without_rows(like)), labelled_(labelled), folder_(memory.folder) {
  const std::int64_t room = std::max<std::int64_t>(memory.bytes / kBucketShare, 1);
  const std::int64_t count = std::clamp<std::int64_t>(expected / room + 1, 1, kMostBuckets);
  waiting_bytes_ =
      static_cast<std::size_t>(std::clamp<std::int64_t>(room / count, 4096, std::int64_t{1} << 20));
  buckets_.resize(static_cast<std::size_t>(count));
  for (Bucket& bucket : buckets_) bucket.spool = std::make_unique<Spool>(folder_);
}

void ContentSpool::add(const Dataset& from, std::int64_t row, const ContentKey& key,
                       double weight) {
  const auto high = static_cast<unsigned __int128>(key.high);
  Bucket& bucket = buckets_[static_cast<std::size_t>(high * buckets_.size() >> 64)];
  const double numbers[] = {weight,
                            from.labels.empty() ? 0.0 : from.labels[static_cast<std::size_t>(row)]};
  put(bucket.waiting, std::span<const double>(numbers));
  std::visit(
      [&](const auto& m) {
        const auto cells = m.row(row);
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
          const std::int64_t count = std::ssize(cells.values);
          put(bucket.waiting, std::span<const std::int64_t>(&count, 1));
          put(bucket.waiting, cells.columns);
          put(bucket.waiting, cells.values);
          bucket.stored += count;
        } else {
          put(bucket.waiting, cells);
          bucket.stored += m.cols;
        }
      },
      from.x);
  ++bucket.rows;
  if (bucket.waiting.size() >= waiting_bytes_) flush(bucket);
}

void ContentSpool::flush(Bucket& bucket) {
  bucket.spool->write(bucket.waiting);
  bucket.bytes += bucket.waiting.size();
  bucket.waiting.clear();
}

// The rows of a bucket.
Dataset ContentSpool::load(Bucket& bucket) {
  flush(bucket);
  base::Buffer<std::byte> read(bucket.bytes);
  bucket.spool->read_at(0, read.span());
  std::span<const std::byte> from = std::as_const(read).span();
  Dataset data = like_;
  const auto rows = static_cast<std::size_t>(bucket.rows);
  base::Buffer<double> weights(rows), labels(labelled_ ? rows : 0);
  data.x = std::visit(
      [&](auto m) -> Matrix {
        using M = decltype(m);
        base::Buffer<typename M::Value> values(static_cast<std::size_t>(bucket.stored));
        base::Buffer<std::int32_t> columns(kIsSparse<M> ? values.size() : 0);
        base::Buffer<std::int64_t> starts(kIsSparse<M> ? rows + 1 : 0);
        std::size_t at = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          double numbers[2];
          take(from, std::span<double>(numbers));
          weights[i] = numbers[0];
          if (labelled_) labels[i] = numbers[1];
          auto count = static_cast<std::size_t>(m.cols);
          if constexpr (kIsSparse<M>) {
            std::int64_t stored = 0;
            take(from, std::span<std::int64_t>(&stored, 1));
            count = static_cast<std::size_t>(stored);
            take(from, columns.span().subspan(at, count));
            starts[i + 1] = static_cast<std::int64_t>(at + count);
          }
          take(from, values.span().subspan(at, count));
          at += count;
        }
        if constexpr (kIsSparse<M>) {
          m.row_start = own(data, std::move(starts)).data();
          m.columns = own(data, std::move(columns)).data();
        }
        m.values = own(data, std::move(values)).data();
        m.rows = bucket.rows;
        return m;
      },
      like_.x);
  data.weights = own(data, std::move(weights));
  data.labels = own(data, std::move(labels));
  return data;
}

void ContentSpool::deal_buckets(const ContentDeal& deal, base::Threads threads, Dealt& all) {
  for (Bucket& bucket : buckets_) {
    const ContentRows dealt = deal_content(load(bucket), deal, threads);
    all.weighted |= dealt.weighted;
    all.sum.add(dealt.sum);
    all.bytes += row_bytes(dealt.data);
    all.rows.push_back(dealt.shard_rows);
    all.stored.emplace_back();
    all.labels.write(std::as_bytes(dealt.data.labels));
    all.weights.write(std::as_bytes(dealt.data.weights));
    std::visit(
        [&](const auto& m) {
          std::int64_t row = 0;
          for (const std::int64_t rows : dealt.shard_rows) {
            std::int64_t stored = rows * m.cols;
            if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
              stored = m.row_start[row + rows] - m.row_start[row];
            }
            all.stored.back().push_back(stored);
            row += rows;
          }
          all.values.write(bytes_of(m.values, data::stored(dealt.data.x)));
          if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
            all.columns.write(bytes_of(m.columns, data::stored(dealt.data.x)));
            std::vector<std::int64_t> lengths(static_cast<std::size_t>(m.rows));
            for (std::size_t i = 0; i < lengths.size(); ++i) {
              lengths[i] = m.row_start[i + 1] - m.row_start[i];
            }
            all.lengths.write(std::as_bytes(std::span(lengths)));
          }
        },
        dealt.data.x);
  }
}

// All rows in one mapped file: row starts, labels, weights, values, columns.
Dataset ContentSpool::lay_out(const Dealt& dealt) const {
  const std::filesystem::path path =
      folder_ / fmt::format("content-{}-{}.rows", getpid(), fmt::ptr(this));
  base::FileWriter file(path);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  // Stretches of `each` bytes a row or value, by shard, and there by bucket.
  const auto copy = [&](const Spool& from, const std::vector<std::vector<std::int64_t>>& counts,
                        std::size_t each, const auto& use) {
    const std::size_t shards = counts.empty() ? 0 : counts.front().size();
    for (std::size_t s = 0; s < shards; ++s) {
      std::size_t begin = 0;  // of the bucket
      for (const std::vector<std::int64_t>& bucket : counts) {
        std::size_t at = begin;
        for (std::size_t before = 0; before < s; ++before) {
          at += static_cast<std::size_t>(bucket[before]) * each;
        }
        const std::size_t end = at + static_cast<std::size_t>(bucket[s]) * each;
        while (at < end) {
          const auto some = std::span(piece).first(std::min(piece.size(), end - at));
          from.read_at(at, some);
          use(some);
          at += some.size();
        }
        for (const std::int64_t count : bucket) begin += static_cast<std::size_t>(count) * each;
      }
    }
  };
  const auto write = [&](std::span<const std::byte> bytes) { file.write(bytes); };
  std::array<std::size_t, 5> offsets{};
  Dataset data = like_;
  std::int64_t rows = 0;
  for (const auto& bucket : dealt.rows) {
    for (const std::int64_t count : bucket) rows += count;
  }
  std::visit(
      [&](auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (kIsSparse<M>) {
          std::int64_t start = 0;
          file.write(bytes_of(&start, 1));
          copy(dealt.lengths, dealt.rows, sizeof(std::int64_t), [&](std::span<std::byte> lengths) {
            for (std::size_t i = 0; i < lengths.size(); i += sizeof(std::int64_t)) {
              std::int64_t length = 0;
              std::memcpy(&length, lengths.data() + i, sizeof(length));
              start += length;
              std::memcpy(lengths.data() + i, &start, sizeof(start));
            }
            file.write(lengths);
          });
        }
        offsets[1] = file.size();
        if (labelled_) copy(dealt.labels, dealt.rows, sizeof(double), write);
        offsets[2] = file.size();
        copy(dealt.weights, dealt.rows, sizeof(double), write);
        offsets[3] = file.size();
        copy(dealt.values, dealt.stored, sizeof(typename M::Value), write);
        offsets[4] = file.size();
        if constexpr (kIsSparse<M>) copy(dealt.columns, dealt.stored, sizeof(std::int32_t), write);
      },
      data.x);
  file.commit(base::Sync::kNone);
  const auto mapped = std::make_shared<const base::MappedFile>(path);
  std::filesystem::remove(path);  // the mapping keeps it
  data.owners.push_back(mapped);
  data.mapped = true;
  const std::byte* begin = mapped->bytes().data();
  const auto numbers = [&](std::size_t i) {
    return std::span(reinterpret_cast<const double*>(begin + offsets[i]),
                     static_cast<std::size_t>(rows));
  };
  if (labelled_) data.labels = numbers(1);
  data.weights = numbers(2);
  std::visit(
      [&](auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (kIsSparse<M>) {
          m.row_start = reinterpret_cast<const std::int64_t*>(begin);
          m.columns = reinterpret_cast<const std::int32_t*>(begin + offsets[4]);
        }
        m.values = reinterpret_cast<const typename M::Value*>(begin + offsets[3]);
        m.rows = rows;
      },
      data.x);
  return data;
}

ContentRows ContentSpool::deal(const ContentDeal& deal, base::Threads threads) {
  ContentDeal to = deal;
  if (deal.shards == 0) to.shards = default_shards(0);
  auto dealt = std::make_unique<Dealt>(folder_);
  deal_buckets(to, threads, *dealt);
  // How large the data is shows only now, when equal rows are one.
  const int shards = deal.shards == 0 ? default_shards(dealt->bytes) : deal.shards;
  if (shards != to.shards) {
    to.shards = shards;
    dealt.reset();
    dealt = std::make_unique<Dealt>(folder_);
    deal_buckets(to, threads, *dealt);
  }
  ContentRows rows;
  rows.shard_rows.resize(static_cast<std::size_t>(to.shards));
  for (const Bucket& bucket : buckets_) rows.read += bucket.rows;
  for (const std::vector<std::int64_t>& bucket : dealt->rows) {
    for (std::size_t s = 0; s < bucket.size(); ++s) rows.shard_rows[s] += bucket[s];
  }
  rows.weighted = dealt->weighted;
  rows.sum = dealt->sum;
  buckets_.clear();  // their space on disk
  rows.data = lay_out(*dealt);
  return rows;
}

ContentRows deal_within(const Dataset& data, const ContentDeal& deal, const ContentMemory& memory,
                        base::Threads threads) {
  const std::int64_t bytes = byte_size(data);
  if (memory.bytes == 0 || bytes <= memory.bytes / 2) return deal_content(data, deal, threads);
  ContentSpool spool(data, !data.labels.empty(), bytes, memory);
  const std::int64_t all = rows(data.x);
  constexpr std::int64_t kRowsOfAPass = 4096;
  base::ThreadPool pool(threads);
  std::vector<ContentKey> keys(static_cast<std::size_t>(kRowsOfAPass));
  for (std::int64_t begin = 0; begin < all; begin += kRowsOfAPass) {
    const std::int64_t count = std::min(kRowsOfAPass, all - begin);
    const std::int64_t parts = pool.size();
    pool.run(parts, [&](std::int64_t part, int) {
      ContentKeys key_of(data, deal.seed);
      for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
        keys[static_cast<std::size_t>(i)] = key_of(begin + i);
      }
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = begin + i;
      const double weight =
          data.weights.empty() ? 1.0 : data.weights[static_cast<std::size_t>(row)];
      if (weight > 0) spool.add(data, row, keys[static_cast<std::size_t>(i)], weight);
    }
    if (data.mapped) release_rows(data.x, {begin, begin + count});
  }
  ContentRows dealt = spool.deal(deal, threads);
  dealt.read = all;
  return dealt;
}

}  // namespace meanwhile::data
