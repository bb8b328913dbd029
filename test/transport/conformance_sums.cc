// Both exchanges over a transport: sums of updates have the bits of the one order.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/transport/collect.h"
#include "test/transport/conformance.h"

namespace meanwhile::transport::conformance {
namespace {

using exchange::Partial;
using exchange::Range;

// The update of a shard: numbers of so different sizes that another order of adding gives other
// bits. A row is touched with probability `touched`, and there are negative zeros and NaN in it.
template <class T>
T number_at(const base::Random& random, std::uint64_t i) {
  const double scale = static_cast<double>(1 << random.below(4 * i + 1, 30));
  const double number = (random.uniform(4 * i + 2) - 0.5) * scale;
  const double rare = random.uniform(4 * i + 3);
  if constexpr (std::is_floating_point_v<T>) {
    if (rare < 0.02) return std::numeric_limits<T>::quiet_NaN();
    if (rare > 0.90) return T{-0.0};
  }
  return static_cast<T>(number);
}

template <class T>
void fill(exchange::Update& update, int block, const base::Random& random, double touched) {
  const exchange::Block& shape = update.shape()[static_cast<std::size_t>(block)];
  // Rows in an order of their own, as a learner meets them.
  for (std::int64_t k = shape.rows; k-- > 0;) {
    const std::int64_t row = shape.rows % 7 == 0 ? k : k * 7 % shape.rows;
    if (random.uniform(4 * static_cast<std::uint64_t>(row * shape.width)) >= touched) continue;
    const std::span<T> values = update.touch<T>(block, row);
    for (std::size_t j = 0; j < values.size(); ++j) {
      values[j] = number_at<T>(
          random, static_cast<std::uint64_t>(row * shape.width) + static_cast<std::uint64_t>(j));
    }
  }
}

exchange::Update update_of(int shard, const exchange::UpdateShape& shape, double touched) {
  exchange::Update update(shape);
  for (int block = 0; block < static_cast<int>(shape.size()); ++block) {
    const base::Random random(static_cast<std::uint64_t>(block), base::Purpose::kUser,
                              static_cast<std::uint32_t>(shard), 0);
    exchange::with_element(shape[static_cast<std::size_t>(block)].element, [&](auto type) {
      fill<decltype(type)>(update, block, random, touched);
    });
  }
  return update;
}

// The sum by the definition of the one order, of dense values, by one thread.
template <class T>
std::vector<T> by_definition(Range node, const std::vector<std::vector<T>>& updates,
                             exchange::Combine how) {
  if (node.size() == 1) return updates[static_cast<std::size_t>(node.begin)];
  const auto [left, right] = exchange::children(node);
  std::vector<T> sum = by_definition(left, updates, how);
  const std::vector<T> other = by_definition(right, updates, how);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (how == exchange::Combine::kAdd) {
      sum[i] += other[i];
    } else {
      sum[i] = exchange::minimum(sum[i], other[i]);
    }
  }
  return sum;
}

// All values of a block; rows that are absent are the identity.
template <class T>
std::vector<T> values_of(const exchange::Update& update, int block) {
  const exchange::Block& shape = update.shape()[static_cast<std::size_t>(block)];
  std::vector<T> all(static_cast<std::size_t>(shape.values()),
                     exchange::identity<T>(shape.combine));
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    if (!update.is_touched(block, row)) continue;
    const auto values = update.row<T>(block, row);
    std::copy(values.begin(), values.end(),
              all.begin() + static_cast<std::ptrdiff_t>(row * shape.width));
  }
  return all;
}

// `dense`: the updates of all shards, in dense blocks.
template <class T>
void expect_sum(const exchange::Update& total, int block,
                const std::vector<exchange::Update>& dense) {
  const int shards = static_cast<int>(dense.size());
  std::vector<std::vector<T>> updates;
  for (const exchange::Update& update : dense) updates.push_back(values_of<T>(update, block));
  const std::vector<T> expected = by_definition<T>(
      {0, shards}, updates, total.shape()[static_cast<std::size_t>(block)].combine);
  const std::vector<T> found = values_of<T>(total, block);
  expect(expected.empty() ||
             std::memcmp(found.data(), expected.data(), expected.size() * sizeof(T)) == 0,
         "{} shards, block {} of {}: not the bits of the one order", shards, block,
         text_of(total.shape()));
}

using Exchange = exchange::Traffic (*)(Transport&, const exchange::Division&,
                                       std::span<const Partial>, exchange::Update&, std::size_t);

// The traffic of sums of this shape, which are checked to have the bits of the one order.
exchange::Traffic sum_up(Transport& transport, Exchange exchange,
                         const exchange::UpdateShape& shape, const exchange::Division& division,
                         double touched) {
  const int shards = division.shards();
  const Range mine = division.of(transport.rank(), transport.size());
  exchange::OrderedSum sum(shards, shape);
  for (int s = mine.begin; s < mine.end; ++s) sum.give(s, update_of(s, shape, touched));
  exchange::UpdateShape dense = shape;
  for (exchange::Block& block : dense) block.sparse = false;
  std::vector<exchange::Update> updates;
  for (int s = 0; s < shards; ++s) updates.push_back(update_of(s, dense, touched));
  exchange::Traffic all;
  // Pieces of 800 bytes, so that there are many of them, and of the usual size.
  for (const std::size_t piece : {std::size_t{800}, exchange::kPieceBytes}) {
    exchange::Update total = update_of(99, shape, 0.5);  // which must be forgotten
    const auto traffic = exchange(transport, division, sum.partials(mine), total, piece);
    all.messages += traffic.messages;
    all.sparse_messages += traffic.sparse_messages;
    for (int block = 0; block < static_cast<int>(shape.size()); ++block) {
      exchange::with_element(shape[static_cast<std::size_t>(block)].element,
                             [&](auto type) { expect_sum<decltype(type)>(total, block, updates); });
    }
  }
  return all;
}

void sums(Transport& transport, Exchange exchange, double touched) {
  std::int64_t messages = 0, sparse = 0;
  for (const int shards : {1, 3, 7, 8, 16}) {
    for (const int size : {0, 1, 2, 5, 1000, 5003}) {
      const auto traffic = sum_up(transport, exchange, {{.rows = size}}, shards, touched);
      messages += traffic.messages;
      sparse += traffic.sparse_messages;
    }
  }
  if (touched == 1) expect(sparse == 0, "{} sparse messages of dense updates", sparse);
  if (touched < 0.1 && transport.size() > 1) {
    expect(sparse * 10 > messages, "{} of {} messages sparse, expected more", sparse, messages);
  }
}

// Every element and combine, dense and sparse, alone and beside each other.
void sums_of_blocks(Transport& transport, Exchange exchange, double touched) {
  using exchange::Combine;
  using exchange::Element;
  exchange::UpdateShape all = {{.rows = 3}};
  for (const Combine how : {Combine::kAdd, Combine::kMin}) {
    for (const Element element : {Element::kFloat64, Element::kFloat32, Element::kInt64}) {
      for (const bool is_sparse : {false, true}) {
        all.push_back({.rows = 101,
                       .width = is_sparse ? 5 : 1,
                       .element = element,
                       .combine = how,
                       .sparse = is_sparse});
        sum_up(transport, exchange, {{100, 3, element, how, is_sparse}}, 5, touched);
      }
    }
  }
  all.push_back({.rows = 2});
  for (const int shards : {1, 3, 8}) sum_up(transport, exchange, all, shards, touched);
}

// Workers that took shards of each other: any bounds between them, and workers without a shard.
void sums_of_divisions(Transport& transport, Exchange exchange) {
  const auto P = static_cast<std::size_t>(transport.size());
  for (const int shards : {1, 3, 7, 8, 16}) {
    for (std::uint32_t trial = 0; trial < 10; ++trial) {
      const base::Random random(5, base::Purpose::kUser, static_cast<std::uint32_t>(shards), trial);
      std::vector<int> bounds = {0};
      while (bounds.size() < P) {
        const auto any = random.below(bounds.size(), static_cast<std::uint64_t>(shards) + 1);
        bounds.push_back(static_cast<int>(any));
      }
      std::sort(bounds.begin(), bounds.end());
      bounds.push_back(shards);
      sum_up(transport, exchange, {{.rows = 501}, {.rows = 40, .width = 3, .sparse = true}},
             exchange::Division(bounds), 0.3);
    }
  }
}

// One worker fails instead of taking part; the others are left with many pieces under way, in
// memory that is freed when the exchange throws.
void failure_during(Transport& transport, Exchange exchange) {
  const int P = transport.size(), rank = transport.rank();
  if (rank == P - 1) transport.fail(base::ErrorKind::kFailed, "diverged");
  try {
    const auto update = exchange::Update::of(std::vector<double>(300000, 1.0));
    exchange::Update total(update.shape());
    const std::vector<Partial> mine{{exchange::owned(P, rank, P), &update}};
    exchange(transport, P, mine, total, 10000);
    barrier(transport);
    expect(P == 1, "worker {} has a sum without worker {}", rank, P - 1);
  } catch (const base::Error& error) {
    expect(error.what() == fmt::format("worker {}: diverged", P - 1), "worker {} was told \"{}\"",
           rank, error.what());
  }
}

}  // namespace

std::vector<Case> sum_cases() {
  const auto of = [](Exchange exchange, double touched) {
    return [=](Transport& transport) { sums(transport, exchange, touched); };
  };
  const auto blocks = [](Exchange exchange) {
    return [=](Transport& transport) {
      for (const double touched : {0.0, 0.04, 1.0}) {
        sums_of_blocks(transport, exchange, touched);
      }
    };
  };
  const auto divisions = [](Exchange exchange) {
    return [=](Transport& transport) { sums_of_divisions(transport, exchange); };
  };
  return {
      {"AllreduceDense", of(exchange::allreduce, 1)},
      {"AllreduceHalf", of(exchange::allreduce, 0.3)},
      {"AllreduceSparse", of(exchange::allreduce, 0.02)},
      {"AllreduceBlocks", blocks(exchange::allreduce)},
      {"AllreduceDivisions", divisions(exchange::allreduce)},
      {"TreeDense", of(exchange::tree, 1)},
      {"TreeHalf", of(exchange::tree, 0.3)},
      {"TreeSparse", of(exchange::tree, 0.02)},
      {"TreeBlocks", blocks(exchange::tree)},
      {"TreeDivisions", divisions(exchange::tree)},
  };
}

std::vector<Case> last_sum_cases() {
  const auto during = [](Exchange exchange) {
    return [=](Transport& transport) { failure_during(transport, exchange); };
  };
  return {{"FailureDuringAllreduce", during(exchange::allreduce)},
          {"FailureDuringTree", during(exchange::tree)}};
}

}  // namespace meanwhile::transport::conformance
