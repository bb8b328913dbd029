#include "test/transport/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "meanwhile/base/random.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/transport/collect.h"

namespace meanwhile::transport::conformance {
namespace {

using exchange::Partial;
using exchange::Range;

template <class... Args>
void expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

std::vector<std::size_t> sizes(std::initializer_list<unsigned> list) {
  return {list.begin(), list.end()};
}

// Bytes that tell who sent them, to whom and as which message.
Bytes message(int from, int to, int number, std::size_t size) {
  constexpr std::size_t kPeriod = 4099;  // prime, so that a piece in another's place shows
  Bytes bytes(size);
  auto state = static_cast<std::uint32_t>(from * 7919 + to * 104729 + number * 1299709 + 1);
  for (std::size_t i = 0; i < std::min(size, kPeriod); ++i) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<std::byte>(state >> 24);
  }
  for (std::size_t i = kPeriod; i < size; i += kPeriod) {
    std::memcpy(&bytes[i], bytes.data(), std::min(size - i, kPeriod));
  }
  return bytes;
}

// Each sends to the next worker and receives from the one before; with one worker, to itself.
void round_trip(Transport& transport, std::size_t size, int number) {
  const int P = transport.size(), rank = transport.rank();
  const int next = (rank + 1) % P, before = (rank + P - 1) % P;
  const Bytes out = message(rank, next, number, size);
  Bytes in(size);
  const Request receive = transport.receive(before, 7, in);
  const Request send = transport.send(next, 7, out);
  expect(transport.wait(send) == size, "a send of {} bytes says otherwise", size);
  expect(transport.wait(receive) == size, "a receive of {} bytes says otherwise", size);
  expect(in == message(before, rank, number, size), "{} bytes came changed", size);
}

void any_size(Transport& transport) {
  int number = 0;
  for (const std::size_t size : sizes({0, 1, 2, 7, 8, 4095, 4096, 4097, 65536, 70001, 1 << 20})) {
    round_trip(transport, size, number++);
  }
}

void larger_than_a_short_message(Transport& transport) {
  round_trip(transport, 2 * kShortMessage + 5, 3);
}

void shorter_than_the_buffer(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  for (const std::size_t size : sizes({0, 1, 1000, 100000})) {
    const int next = (rank + 1) % P, before = (rank + P - 1) % P;
    const Bytes out = message(rank, next, 1, size);
    Bytes in(200000, std::byte{42});
    const Request receive = transport.receive(before, 8, in);
    const Request send = transport.send(next, 8, out);
    expect(transport.wait(receive) == size, "a message of {} bytes says otherwise", size);
    transport.wait(send);
    expect(in[size] == std::byte{42}, "bytes beyond a message of {} were written", size);
    in.resize(size);
    expect(in == message(before, rank, 1, size), "{} bytes came changed", size);
  }
}

void ordered_by_tag(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  constexpr int kMessages = 20, kTags = 3;
  const int next = (rank + 1) % P, before = (rank + P - 1) % P;
  std::vector<Bytes> out, in;
  for (int n = 0; n < kMessages * kTags; ++n) out.push_back(message(rank, next, n, 100));
  for (int n = 0; n < kMessages * kTags; ++n) in.emplace_back(100);
  std::vector<Request> requests;
  for (int n = 0; n < kMessages * kTags; ++n) {
    requests.push_back(transport.send(next, n % kTags, out[static_cast<std::size_t>(n)]));
  }
  // Tags are received one after the other, though they were sent in turn, the last tag first.
  for (int tag = kTags - 1; tag >= 0; --tag) {
    for (int n = tag; n < kMessages * kTags; n += kTags) {
      requests.push_back(transport.receive(before, tag, in[static_cast<std::size_t>(n)]));
    }
  }
  for (const Request request : requests) transport.wait(request);
  for (int n = 0; n < kMessages * kTags; ++n) {
    expect(in[static_cast<std::size_t>(n)] == message(before, rank, n, 100),
           "message {} was taken for another", n);
  }
}

void to_itself(Transport& transport) {
  const Bytes out = message(1, 2, 3, 100000);
  Bytes in(out.size());
  const Request receive = transport.receive(transport.rank(), 9, in);
  transport.wait(transport.send(transport.rank(), 9, out));
  transport.wait(receive);
  expect(in == out, "bytes to itself came changed");
}

// All sends are waited for before any receive: posted receives must proceed meanwhile.
void storm(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  for (const int size : {3, 300000}) {
    const int kEach = size < 100 ? 50 : 4;
    std::vector<Bytes> out, in;
    std::vector<Request> sends, receives;
    for (int peer = 0; peer < P; ++peer) {
      for (int n = 0; n < kEach; ++n) {
        out.push_back(message(rank, peer, n, static_cast<std::size_t>(size + n)));
        in.emplace_back(static_cast<std::size_t>(size + n));
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int peer = static_cast<int>(i) / kEach;
      receives.push_back(transport.receive(peer, 10, in[i]));
      sends.push_back(transport.send(peer, 10, out[i]));
    }
    for (const Request request : sends) transport.wait(request);
    for (auto last = receives.rbegin(); last != receives.rend(); ++last) transport.wait(*last);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int peer = static_cast<int>(i) / kEach, n = static_cast<int>(i) % kEach;
      expect(in[i] == message(peer, rank, n, in[i].size()), "message {} of worker {} is wrong", n,
             peer);
    }
  }
}

void gathers(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  for (const std::size_t unit : sizes({0, 1, 5000})) {
    const auto size_of = [&](int worker) { return unit * static_cast<std::size_t>(worker); };
    const auto all = all_gather(transport, message(rank, 0, 5, size_of(rank)));
    expect(std::ssize(all) == P, "gathered {} of {}", all.size(), P);
    for (int worker = 0; worker < P; ++worker) {
      expect(all[static_cast<std::size_t>(worker)] == message(worker, 0, 5, size_of(worker)),
             "what worker {} gave is wrong", worker);
    }
  }
}

void gives_each_its_own(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  const auto size_of = [](int from, int to) { return static_cast<std::size_t>(3 * from + to); };
  std::vector<Bytes> out;
  for (int to = 0; to < P; ++to) out.push_back(message(rank, to, 6, size_of(rank, to)));
  const auto in = all_to_all(transport, std::move(out));
  for (int from = 0; from < P; ++from) {
    expect(in[static_cast<std::size_t>(from)] == message(from, rank, 6, size_of(from, rank)),
           "what came from worker {} is wrong", from);
  }
  barrier(transport);
}

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

using Exchange = exchange::Traffic (*)(Transport&, int, std::span<const Partial>, exchange::Update&,
                                       std::size_t);

// The traffic of sums of this shape, which are checked to have the bits of the one order.
exchange::Traffic sum_up(Transport& transport, Exchange exchange,
                         const exchange::UpdateShape& shape, int shards, double touched) {
  const int P = transport.size(), rank = transport.rank();
  const Range mine = exchange::owned(shards, rank, P);
  exchange::OrderedSum sum(shards, mine, shape);
  for (int s = mine.begin; s < mine.end; ++s) sum.give(s, update_of(s, shape, touched));
  exchange::UpdateShape dense = shape;
  for (exchange::Block& block : dense) block.sparse = false;
  std::vector<exchange::Update> updates;
  for (int s = 0; s < shards; ++s) updates.push_back(update_of(s, dense, touched));
  exchange::Traffic all;
  // Pieces of 800 bytes, so that there are many of them, and of the usual size.
  for (const std::size_t piece : {std::size_t{800}, exchange::kPieceBytes}) {
    exchange::Update total = update_of(99, shape, 0.5);  // which must be forgotten
    const auto traffic = exchange(transport, shards, sum.partials(), total, piece);
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

void failure_reaches_all(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  const std::string expected = fmt::format("worker {}: the disk is full", P - 1);
  Bytes in(10), large(100000);
  try {
    if (rank == P - 1) {
      transport.fail(base::ErrorKind::kSystem, "the disk is full");
    } else {
      transport.receive(P - 1, 1, in);  // of many requests the failure finds some open
      transport.send(P - 1, 1, large);
      transport.wait(transport.receive(P - 1, 2, large));
    }
    transport.wait(transport.receive(rank, 3, in));
    expect(false, "worker {} noticed nothing", rank);
  } catch (const base::Error& error) {
    expect(error.what() == expected, "worker {} was told \"{}\"", rank, error.what());
    expect(error.kind() == base::ErrorKind::kSystem, "the kind of the error was lost");
  }
  transport.fail(base::ErrorKind::kFailed, "a later cause");
  try {
    barrier(transport);
    transport.wait(transport.receive(rank, 3, in));
    expect(false, "a later wait of worker {} goes on", rank);
  } catch (const base::Error& error) {
    expect(error.what() == expected, "worker {} was told \"{}\" later", rank, error.what());
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

// Everybody waits for the last worker, and it for itself.
void silence_is_named(Transport& transport) {
  Bytes in(10);
  const int silent = transport.size() - 1;
  try {
    transport.wait(transport.receive(silent, 1, in));
    expect(false, "worker {} waits for ever", transport.rank());
  } catch (const base::Error& error) {
    const std::string expected =
        fmt::format("receiving 10 bytes from worker {}: silent for", silent);
    expect(std::string_view(error.what()).find(expected) != std::string_view::npos,
           "worker {} says \"{}\"", transport.rank(), error.what());
    expect(error.kind() == base::ErrorKind::kFailed, "silence has another kind");
  }
}

}  // namespace

std::vector<Case> cases() {
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
  return {
      {"AnySize", any_size},
      {"LargerThanAShortMessage", larger_than_a_short_message},
      {"ShorterThanTheBuffer", shorter_than_the_buffer},
      {"OrderedByTag", ordered_by_tag},
      {"ToItself", to_itself},
      {"Storm", storm},
      {"Gathers", gathers},
      {"GivesEachItsOwn", gives_each_its_own},
      {"AllreduceDense", of(exchange::allreduce, 1)},
      {"AllreduceHalf", of(exchange::allreduce, 0.3)},
      {"AllreduceSparse", of(exchange::allreduce, 0.02)},
      {"AllreduceBlocks", blocks(exchange::allreduce)},
      {"TreeDense", of(exchange::tree, 1)},
      {"TreeHalf", of(exchange::tree, 0.3)},
      {"TreeSparse", of(exchange::tree, 0.02)},
      {"TreeBlocks", blocks(exchange::tree)},
  };
}

std::vector<Case> last_cases() {
  const auto during = [](Exchange exchange) {
    return [=](Transport& transport) { failure_during(transport, exchange); };
  };
  return {{"FailureReachesAll", failure_reaches_all},
          {"FailureDuringAllreduce", during(exchange::allreduce)},
          {"FailureDuringTree", during(exchange::tree)},
          {"SilenceIsNamed", silence_is_named}};
}

}  // namespace meanwhile::transport::conformance
