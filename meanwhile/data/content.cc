// Keys are made in parallel, brought to their shards by counting, and sorted there with the numbers
// of the rows; equal rows then lie side by side. Besides the rows themselves, once as they came and
// once as they are dealt, that takes 24 bytes a row.
#include "meanwhile/data/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/exact_sum.h"
#include "meanwhile/data/release_rows.h"

namespace meanwhile::data {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kRowsAtOnce = 1024;  // of a task

struct Keyed {
  ContentKey key;
  std::int64_t row = 0;
};

// A row as it is dealt.
struct Chosen {
  std::int64_t row = 0;
  double weight = 1;
};

double weight_of(const Dataset& data, std::int64_t row) {
  return data.weights.empty() ? 1.0 : data.weights[static_cast<std::size_t>(row)];
}

// Calls use(begin, end, thread) for pieces of [0, rows).
template <class Use>
void in_pieces(std::int64_t rows, base::Threads threads, const Use& use) {
  const std::int64_t pieces = rows / kRowsAtOnce + (rows % kRowsAtOnce != 0);
  base::ThreadPool pool(threads.at_most(pieces));
  pool.run(pieces, [&](std::int64_t piece, int thread) {
    use(piece * kRowsAtOnce, std::min(rows, (piece + 1) * kRowsAtOnce), thread);
  });
}

// The keys of the rows of positive weight, by shard.
std::vector<std::vector<Keyed>> keys_by_shard(const Dataset& data, const ContentDeal& deal,
                                              base::Threads threads) {
  const std::int64_t all = rows(data.x);
  base::Buffer<ContentKey> keys(static_cast<std::size_t>(all));
  in_pieces(all, threads, [&](std::int64_t begin, std::int64_t end, int) {
    ContentKeys key_of(data, deal.seed);
    for (std::int64_t row = begin; row < end; ++row) {
      if (weight_of(data, row) > 0) keys[static_cast<std::size_t>(row)] = key_of(row);
    }
  });
  std::vector<std::vector<Keyed>> by_shard(static_cast<std::size_t>(deal.shards));
  for (std::int64_t row = 0; row < all; ++row) {
    if (row % kRowsAtOnce == 0) threads.stop.check();
    const ContentKey& key = keys[static_cast<std::size_t>(row)];
    if (!(weight_of(data, row) > 0)) continue;
    by_shard[static_cast<std::size_t>(key.shard(deal.shards))].push_back({key, row});
  }
  return by_shard;
}

// Appends the rows of `equal`, which are equal, as they are dealt.
void choose(const Dataset& data, std::span<const Keyed> equal, bool merge,
            std::vector<Chosen>& chosen) {
  if (equal.size() == 1 || data.weights.empty()) {
    const auto count = static_cast<double>(equal.size());
    if (merge) {
      chosen.push_back({equal.front().row, count * weight_of(data, equal.front().row)});
    } else {
      for (const Keyed& one : equal) chosen.push_back({one.row, weight_of(data, one.row)});
    }
    return;
  }
  if (merge) {
    ExactSum sum;
    for (const Keyed& one : equal) sum.add(weight_of(data, one.row));
    chosen.push_back({equal.front().row, sum.rounded()});
    if (std::isfinite(chosen.back().weight)) return;
    throw Error(ErrorKind::kInput,
                "the weights of {} equal rows, of which row {} (counted from 0) is one, add up to "
                "more than a number can be; make all weights smaller",
                equal.size(), equal.front().row);
  }
  const auto first = static_cast<std::ptrdiff_t>(chosen.size());
  for (const Keyed& one : equal) chosen.push_back({one.row, weight_of(data, one.row)});
  std::sort(chosen.begin() + first, chosen.end(),
            [](const Chosen& a, const Chosen& b) { return a.weight < b.weight; });
}

// The rows of a shard as they are dealt, in order.
std::vector<Chosen> settle_shard(const Dataset& data, std::vector<Keyed>& keyed, bool merge) {
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    return std::tie(a.key, a.row) < std::tie(b.key, b.row);
  });
  std::vector<Chosen> chosen;
  for (auto begin = keyed.begin(); begin != keyed.end();) {
    const auto end = std::find_if(begin, keyed.end(),
                                  [&](const Keyed& other) { return other.key != begin->key; });
    const auto differs = [&](const Keyed& a, const Keyed& b) {
      return compare_rows(data, a.row, b.row) != 0;
    };
    if (std::adjacent_find(begin, end, differs) != end) {
      std::stable_sort(begin, end, [&](const Keyed& a, const Keyed& b) {
        return compare_rows(data, a.row, b.row) < 0;
      });
    }
    for (auto first = begin; first != end;) {
      const auto next = std::adjacent_find(first, end, differs);
      const auto last = next == end ? end : next + 1;
      choose(data, {first, last}, merge, chosen);
      first = last;
    }
    begin = end;
  }
  keyed = {};
  return chosen;
}

// Copies the chosen rows to `to`, with zeros as in ContentRows.
template <class T>
void gather(const Dense<T>& from, std::span<const Chosen> chosen, base::Threads threads,
            Dataset& to) {
  const auto count = std::ssize(chosen);
  base::Buffer<T> values(chosen.size() * static_cast<std::size_t>(from.cols));
  in_pieces(count, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = values.data() + i * from.cols;
      for (const T value : from.row(chosen[static_cast<std::size_t>(i)].row)) *row++ = value + T{0};
    }
  });
  to.x = Dense<T>{own(to, std::move(values)).data(), count, from.cols};
}

template <class T>
void gather(const Sparse<T>& from, std::span<const Chosen> chosen, base::Threads threads,
            Dataset& to) {
  const auto count = std::ssize(chosen);
  base::Buffer<std::int64_t> starts(chosen.size() + 1);
  in_pieces(count, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto row = from.row(chosen[i].row).values;
      starts[i + 1] = std::ssize(row) - std::count(row.begin(), row.end(), T{0});
    }
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  base::Buffer<std::int32_t> columns(static_cast<std::size_t>(starts[chosen.size()]));
  base::Buffer<T> values(columns.size());
  in_pieces(count, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto row = from.row(chosen[i].row);
      auto at = static_cast<std::size_t>(starts[i]);
      for (std::size_t k = 0; k < row.values.size(); ++k) {
        if (row.values[k] == 0) continue;
        columns[at] = row.columns[k];
        values[at++] = row.values[k];
      }
    }
  });
  const std::int64_t* row_start = own(to, std::move(starts)).data();
  const std::int32_t* column = own(to, std::move(columns)).data();
  to.x = Sparse<T>{row_start, column, own(to, std::move(values)).data(), count, from.cols};
}

ContentRows deal_to_shards(const Dataset& data, const ContentDeal& deal, base::Threads threads) {
  ContentRows dealt;
  dealt.read = rows(data.x);
  auto keyed = keys_by_shard(data, deal, threads);
  std::vector<std::vector<Chosen>> of_shard(keyed.size());
  base::ThreadPool pool(threads.at_most(deal.shards));
  pool.run(deal.shards, [&](std::int64_t s, int) {
    const auto shard = static_cast<std::size_t>(s);
    of_shard[shard] = settle_shard(data, keyed[shard], deal.merge);
  });
  std::vector<Chosen> chosen;
  for (std::vector<Chosen>& rows : of_shard) {
    dealt.shard_rows.push_back(std::ssize(rows));
    chosen.insert(chosen.end(), rows.begin(), rows.end());
    rows = {};
  }

  dealt.data = without_rows(data);
  std::visit([&](const auto& m) { gather(m, chosen, threads, dealt.data); }, data.x);
  base::Buffer<double> labels(data.labels.empty() ? 0 : chosen.size()), weights(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i % kRowsAtOnce == 0) threads.stop.check();
    weights[i] = chosen[i].weight;
    dealt.weighted |= weights[i] != 1;
    if (data.labels.empty()) continue;
    labels[i] = data.labels[static_cast<std::size_t>(chosen[i].row)] + 0.0;  // -0 becomes 0
  }
  dealt.data.labels = own(dealt.data, std::move(labels));
  dealt.data.weights = own(dealt.data, std::move(weights));

  std::vector<ContentSum> sums(static_cast<std::size_t>(std::max(threads.count, 1)));
  in_pieces(std::ssize(chosen), threads, [&](std::int64_t begin, std::int64_t end, int thread) {
    ContentKeys keys(dealt.data, 0);
    for (std::int64_t row = begin; row < end; ++row) {
      sums[static_cast<std::size_t>(thread)].add(keys.term(row, weight_of(dealt.data, row)));
    }
  });
  for (const ContentSum& sum : sums) dealt.sum.add(sum);
  return dealt;
}

}  // namespace

Dataset with_sorted_classes(Dataset data, RowRange rows) {
  if (std::is_sorted(data.class_names.begin(), data.class_names.end())) return data;
  std::vector<std::size_t> order(data.class_names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return data.class_names[a] < data.class_names[b];
  });
  std::vector<double> number(order.size());
  std::vector<std::string> names;
  for (const std::size_t old : order) {
    number[old] = static_cast<double>(names.size());
    names.push_back(data.class_names[old]);
  }
  base::Buffer<double> labels(data.labels.size());
  for (auto i = static_cast<std::size_t>(rows.begin); i < static_cast<std::size_t>(rows.end); ++i) {
    labels[i] = number[static_cast<std::size_t>(data.labels[i])];
  }
  data.class_names = std::move(names);
  data.labels = own(data, std::move(labels));
  return data;
}

Dataset without_rows(const Dataset& data) {
  Dataset rest = data;
  rest.weights = rest.labels = {};
  rest.owners.clear();
  rest.incomplete.clear();
  rest.mapped = false;
  std::visit([](auto& m) { m = std::decay_t<decltype(m)>{.cols = m.cols}; }, rest.x);
  return rest;
}

std::int64_t row_bytes(const Dataset& data) {
  // One more row start than rows.
  return byte_size(data) - (is_sparse(data) ? static_cast<std::int64_t>(sizeof(std::int64_t)) : 0);
}

ContentRows deal_content(const Dataset& data, const ContentDeal& deal, base::Threads threads) {
  ContentDeal to = deal;
  if (deal.shards == 0) to.shards = default_shards(0);
  ContentRows dealt = deal_to_shards(data, to, threads);
  if (deal.shards > 0) return dealt;
  // How large the data is shows only now, when equal rows are one.
  const int shards = default_shards(row_bytes(dealt.data));
  if (shards == to.shards) return dealt;
  const std::int64_t read = dealt.read;
  to.shards = shards;
  dealt = deal_to_shards(std::exchange(dealt.data, {}), to, threads);
  dealt.read = read;
  return dealt;
}

std::vector<Shard> content_shards(const ContentRows& rows,
                                  const std::vector<std::int64_t>& shard_rows) {
  const std::int64_t all = std::accumulate(shard_rows.begin(), shard_rows.end(), std::int64_t{0});
  std::vector<Shard> shards;
  std::int64_t first = 0;
  for (std::size_t s = 0; s < shard_rows.size(); ++s) {
    shards.push_back(
        {static_cast<int>(s), blocks_of(rows.shard_rows[s], block_rows(all)), shard_rows[s]});
    for (RowRange& block : shards.back().blocks) block.begin += first, block.end += first;
    first += rows.shard_rows[s];
  }
  return shards;
}

std::string content_sha256(const Dataset& data, const Whole& whole, const ContentSum& sum) {
  base::Sha256 hash;
  hash.add("dealt by content\n");
  hash.add(describe(data, whole));
  hash.add(std::as_bytes(std::span(sum.words)));
  return hash.hex();
}

Part part_of(ContentRows dealt, bool labelled, base::Threads threads) {
  const Whole all{rows(dealt.data.x), stored(dealt.data.x), labelled, dealt.weighted};
  Part part;
  part.deal = Deal::kContent;
  part.shards = content_shards(dealt, dealt.shard_rows);
  part.read_rows = dealt.read;
  part.rows = all.rows;
  part.stored = all.stored;
  part.labelled = all.labelled;
  part.weighted = all.weighted;
  part.sha256 = content_sha256(dealt.data, all, dealt.sum);
  part.label_values = label_values(dealt.data, threads);
  part.data = std::move(dealt.data);
  if (!part.weighted) part.data.weights = {};
  return part;
}

Part whole_by_content(Dataset data, const ContentDeal& deal, base::Threads threads) {
  const bool labelled = !data.labels.empty();
  ContentRows dealt = deal_content(data, deal, threads);
  data = {};  // its memory
  return part_of(std::move(dealt), labelled, threads);
}

std::vector<ContentKey> distinct_keys(const Dataset& data, RowRange rows, base::Threads threads) {
  std::vector<ContentKey> distinct, piece;
  // No more rows are looked at than it takes to know that there are too many.
  for (std::int64_t begin = rows.begin, count; begin < rows.end; begin += count) {
    count = std::min(kSmallRows + 1, rows.end - begin);
    piece.assign(static_cast<std::size_t>(count), {});
    in_pieces(count, threads, [&](std::int64_t first, std::int64_t last, int) {
      ContentKeys key_of(data, 0);
      for (std::int64_t i = first; i < last; ++i) {
        piece[static_cast<std::size_t>(i)] = key_of(begin + i);
      }
      if (data.mapped) release_rows(data.x, {begin + first, begin + last});
    });
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!(weight_of(data, begin + i) > 0)) continue;
      piece[static_cast<std::size_t>(kept++)] = piece[static_cast<std::size_t>(i)];
    }
    piece.resize(static_cast<std::size_t>(kept));
    std::sort(piece.begin(), piece.end());
    const auto old = std::ssize(distinct);
    distinct.insert(distinct.end(), piece.begin(), piece.end());
    std::inplace_merge(distinct.begin(), distinct.begin() + old, distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (std::ssize(distinct) > kSmallRows) break;
  }
  return distinct;
}

}  // namespace meanwhile::data
