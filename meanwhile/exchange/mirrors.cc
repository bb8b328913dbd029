#include "meanwhile/exchange/mirrors.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/exchange/add.h"
#include "meanwhile/exchange/pieces.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::exchange {
namespace {

constexpr int kPartsTag = 3, kSumsTag = 4;

std::size_t row_bytes(const Block& block) {
  return static_cast<std::size_t>(block.width) * element_bytes(block.element);
}
std::size_t block_bytes(const Block& block) {
  return static_cast<std::size_t>(block.rows) * row_bytes(block);
}

std::byte* bytes_of(Update& update, int block) {
  return with_element(update.shape()[static_cast<std::size_t>(block)].element, [&](auto zero) {
    return reinterpret_cast<std::byte*>(update.dense<decltype(zero)>(block).data());
  });
}
const std::byte* bytes_of(const Update& update, int block) {
  return bytes_of(const_cast<Update&>(update), block);
}

// Bytes of a row of all mirrored blocks, and of all values of the others.
std::size_t rows_size(const Update& update, int blocks, std::size_t rows) {
  std::size_t bytes = 0;
  for (int b = 0; b < blocks; ++b)
    bytes += rows * row_bytes(update.shape()[static_cast<std::size_t>(b)]);
  return bytes;
}
std::size_t tail_size(const Update& update, int blocks) {
  std::size_t bytes = 0;
  for (auto b = static_cast<std::size_t>(blocks); b < update.shape().size(); ++b) {
    bytes += block_bytes(update.shape()[b]);
  }
  return bytes;
}

// Rows of a block, one after another.
std::byte* pack(const Update& update, int block, std::span<const std::int64_t> rows,
                std::byte* to) {
  const std::size_t size = row_bytes(update.shape()[static_cast<std::size_t>(block)]);
  const std::byte* const from = bytes_of(update, block);
  for (const std::int64_t row : rows) {
    std::memcpy(to, from + static_cast<std::size_t>(row) * size, size);
    to += size;
  }
  return to;
}

// Identities for `values` values of a block.
transport::Bytes absent(const Block& block, std::size_t values) {
  transport::Bytes bytes(values * element_bytes(block.element));
  with_element(block.element, [&](auto zero) {
    using T = decltype(zero);
    const T value = identity<T>(block.combine);
    for (std::size_t i = 0; i < values; ++i) std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  });
  return bytes;
}

}  // namespace

Mirrors::Mirrors(transport::Transport& transport, int shards, std::vector<std::int64_t> first_row,
                 std::span<const std::int64_t> needed)
    : transport_(transport),
      shards_(shards),
      piece_(piece_bytes(transport)),
      first_row_(std::move(first_row)) {
  const auto workers = static_cast<std::size_t>(transport.size());
  assert(first_row_.size() == workers + 1);
  peers_.resize(workers);
  for (const std::int64_t row : needed) {
    if (is_own(row)) continue;
    const auto owner =
        std::upper_bound(first_row_.begin(), first_row_.end(), row) - first_row_.begin() - 1;
    if (owner < 0 || owner >= transport.size()) {
      throw base::Error(base::ErrorKind::kFailed, "row {} is needed, but there is none", row);
    }
    peers_[static_cast<std::size_t>(owner)].mine_there.push_back(row);
  }
  // Every worker hears which of its rows others need.
  std::vector<transport::Bytes> lists;
  for (const Peer& peer : peers_) {
    transport::Packer packer;
    packer.put_list(std::span<const std::int64_t>(peer.mine_there));
    lists.emplace_back(packer.bytes().begin(), packer.bytes().end());
  }
  const auto all = all_to_all(transport, std::move(lists));
  for (std::size_t worker = 0; worker < workers; ++worker) {
    peers_[worker].theirs_here = transport::Unpacker(all[worker]).get_list<std::int64_t>();
  }
  for (const Peer& peer : peers_) {
    shared_.insert(shared_.end(), peer.theirs_here.begin(), peer.theirs_here.end());
  }
  std::sort(shared_.begin(), shared_.end());
  shared_.erase(std::unique(shared_.begin(), shared_.end()), shared_.end());
  for (Peer& peer : peers_) {
    for (const std::int64_t row : peer.theirs_here) {
      if (!is_own(row)) throw base::Error(base::ErrorKind::kFailed, "row {} is not here", row);
      peer.places.push_back(static_cast<std::size_t>(
          std::lower_bound(shared_.begin(), shared_.end(), row) - shared_.begin()));
    }
  }
  for (const auto& [worker, range] :
       exchange::sources(shards, 0, transport.size(), transport.size())) {
    sources_.push_back({worker, range, {}});
  }
}

bool Mirrors::is_own(std::int64_t row) const {
  const auto rank = static_cast<std::size_t>(transport_.rank());
  return row >= first_row_[rank] && row < first_row_[rank + 1];
}

std::int64_t Mirrors::mirrored() const {
  std::int64_t rows = 0;
  for (const Peer& peer : peers_) rows += std::ssize(peer.mine_there);
  return rows;
}

// In pieces, as kWirePieceBytes says why.
void Mirrors::receive(int from, int tag, std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += piece_) {
    const std::size_t size = std::min(piece_, bytes.size() - at);
    requests_.push_back(transport_.receive(from, tag, bytes.subspan(at, size)));
  }
}

void Mirrors::send(int to, int tag, std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += piece_) {
    const std::size_t size = std::min(piece_, bytes.size() - at);
    requests_.push_back(transport_.send(to, tag, bytes.subspan(at, size)));
    ++traffic_.messages;
  }
  traffic_.bytes += std::ssize(bytes);
}

Traffic Mirrors::exchange(std::span<const Partial> mine, int blocks, Update& total) {
  traffic_ = {};
  receive_parts(blocks, total);
  send_parts(mine, blocks);
  for (int b = 0; b < blocks; ++b) add_own_rows(mine, b, total);
  for (const transport::Request request : requests_) transport_.wait(request);
  requests_.clear();
  std::size_t offset = 0;
  for (int b = 0; b < blocks; ++b) {
    add_shared_rows(mine, b, offset, total);
    offset += row_bytes(total.shape()[static_cast<std::size_t>(b)]);
  }
  add_tail(mine, blocks, offset, total);
  exchange_sums(blocks, total);
  total.settle();
  return traffic_;
}

// A message holds, for each mirrored block, the rows of its receiver, and then the other blocks.
void Mirrors::receive_parts(int blocks, const Update& total) {
  for (Source& source : sources_) {
    if (source.worker == transport_.rank()) continue;
    const Peer& peer = peers_[static_cast<std::size_t>(source.worker)];
    source.bytes.resize(rows_size(total, blocks, peer.theirs_here.size()) +
                        tail_size(total, blocks));
    receive(source.worker, kPartsTag, source.bytes);
  }
}

void Mirrors::send_parts(std::span<const Partial> mine, int blocks) {
  const int workers = transport_.size();
  // The next worker first, so that not all send to the same one at once.
  for (int step = 1; step < workers; ++step) {
    const int to = (transport_.rank() + step) % workers;
    Peer& peer = peers_[static_cast<std::size_t>(to)];
    peer.out.resize(mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const Update& update = *mine[i].update;
      transport::Bytes& message = peer.out[i];
      message.resize(rows_size(update, blocks, peer.mine_there.size()) + tail_size(update, blocks));
      std::byte* at = message.data();
      for (int b = 0; b < blocks; ++b) at = pack(update, b, peer.mine_there, at);
      for (int b = blocks; b < static_cast<int>(update.shape().size()); ++b) {
        const std::size_t size = block_bytes(update.shape()[static_cast<std::size_t>(b)]);
        std::memcpy(at, bytes_of(update, b), size);
        at += size;
      }
      send(to, kPartsTag, message);
    }
  }
}

// Rows that no other worker has: sums of this worker's own subtrees. The subtrees of others are
// absent, which is the identity; so the tree is followed over the present ones, and one identity is
// added at the end, as a sum with absent terms would.
void Mirrors::add_own_rows(std::span<const Partial> mine, int block, Update& total) const {
  const auto rank = static_cast<std::size_t>(transport_.rank());
  const Block& shape = total.shape()[static_cast<std::size_t>(block)];
  const std::size_t first = static_cast<std::size_t>(first_row_[rank]) * row_bytes(shape);
  const auto values =
      static_cast<std::size_t>((first_row_[rank + 1] - first_row_[rank]) * shape.width);
  std::byte* const out = bytes_of(total, block) + first;
  if (values == 0) return;
  if (mine.empty()) {
    const transport::Bytes none = absent(shape, values);
    std::memcpy(out, none.data(), none.size());
    return;
  }
  with_element(shape.element, [&](auto zero) {
    using T = decltype(zero);
    const auto add = [&](auto&& self, Range node, T* to) -> bool {
      for (const Partial& partial : mine) {
        if (partial.range != node) continue;
        const std::byte* const from = bytes_of(*partial.update, block) + first;
        std::memcpy(to, from, values * sizeof(T));
        return true;
      }
      const bool inside = std::any_of(mine.begin(), mine.end(), [&](const Partial& partial) {
        return partial.range.begin >= node.begin && partial.range.end <= node.end;
      });
      if (!inside) return false;
      const auto [left, right] = children(node);
      if (!self(self, left, to)) return self(self, right, to);
      std::vector<T> more(values);
      if (self(self, right, more.data())) combine(shape.combine, to, more.data(), to, values);
      return true;
    };
    T* const to = reinterpret_cast<T*>(out);
    add(add, {0, shards_}, to);
    const bool all = mine.front().range == Range{0, shards_};
    if (!all) combine_with_absent(shape.combine, to, values);
  });
}

void Mirrors::add_shared_rows(std::span<const Partial> mine, int block, std::size_t offset,
                              Update& total) {
  const Block& shape = total.shape()[static_cast<std::size_t>(block)];
  const std::size_t size = row_bytes(shape);
  const std::size_t values = shared_.size() * static_cast<std::size_t>(shape.width);
  if (values == 0) return;
  std::vector<transport::Bytes> parts;
  std::vector<Term> terms;
  parts.reserve(sources_.size());
  std::size_t next_mine = 0;
  for (const Source& source : sources_) {
    parts.push_back(absent(shape, values));
    if (source.worker == transport_.rank()) {
      pack(*mine[next_mine++].update, block, shared_, parts.back().data());
    } else {
      const Peer& peer = peers_[static_cast<std::size_t>(source.worker)];
      const std::byte* from = source.bytes.data() + offset * peer.theirs_here.size();
      for (const std::size_t place : peer.places) {
        std::memcpy(&parts.back()[place * size], from, size);
        from += size;
      }
    }
    terms.push_back({source.range, parts.back().data()});
  }
  transport::Bytes sum(values * element_bytes(shape.element));
  add_terms(shape.element, shape.combine, {0, shards_}, terms, values, sum.data());
  std::byte* const to = bytes_of(total, block);
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    std::memcpy(to + static_cast<std::size_t>(shared_[i]) * size, &sum[i * size], size);
  }
}

void Mirrors::add_tail(std::span<const Partial> mine, int blocks, std::size_t offset,
                       Update& total) {
  std::size_t before = 0;
  for (int b = blocks; b < static_cast<int>(total.shape().size()); ++b) {
    const Block& shape = total.shape()[static_cast<std::size_t>(b)];
    std::vector<Term> terms;
    std::size_t next_mine = 0;
    // Messages are not aligned.
    std::vector<transport::Bytes> copies;
    copies.reserve(sources_.size());
    for (const Source& source : sources_) {
      if (source.worker == transport_.rank()) {
        terms.push_back({source.range, bytes_of(*mine[next_mine++].update, b)});
        continue;
      }
      const Peer& peer = peers_[static_cast<std::size_t>(source.worker)];
      const auto* const from = source.bytes.data() + offset * peer.theirs_here.size() + before;
      copies.emplace_back(from, from + block_bytes(shape));
      terms.push_back({source.range, copies.back().data()});
    }
    add_terms(shape.element, shape.combine, {0, shards_}, terms,
              static_cast<std::size_t>(shape.values()), bytes_of(total, b));
    before += block_bytes(shape);
  }
}

void Mirrors::exchange_sums(int blocks, Update& total) {
  const int workers = transport_.size();
  for (int step = 1; step < workers; ++step) {
    const int from = (transport_.rank() + workers - step) % workers;
    Peer& peer = peers_[static_cast<std::size_t>(from)];
    if (peer.mine_there.empty()) continue;
    peer.sums_in.resize(rows_size(total, blocks, peer.mine_there.size()));
    receive(from, kSumsTag, peer.sums_in);
  }
  for (int step = 1; step < workers; ++step) {
    const int to = (transport_.rank() + step) % workers;
    Peer& peer = peers_[static_cast<std::size_t>(to)];
    if (peer.theirs_here.empty()) continue;
    peer.sums_out.resize(rows_size(total, blocks, peer.theirs_here.size()));
    std::byte* at = peer.sums_out.data();
    for (int b = 0; b < blocks; ++b) at = pack(total, b, peer.theirs_here, at);
    send(to, kSumsTag, peer.sums_out);
  }
  for (const transport::Request request : requests_) transport_.wait(request);
  requests_.clear();
  for (const Peer& peer : peers_) {
    const std::byte* from = peer.sums_in.data();
    for (int b = 0; b < blocks && !peer.mine_there.empty(); ++b) {
      const std::size_t size = row_bytes(total.shape()[static_cast<std::size_t>(b)]);
      std::byte* const to = bytes_of(total, b);
      for (const std::int64_t row : peer.mine_there) {
        std::memcpy(to + static_cast<std::size_t>(row) * size, from, size);
        from += size;
      }
    }
  }
}

Cost mirrors_cost(double rows_bytes, double copies, double busiest, double tail_bytes,
                  int workers) {
  if (workers == 1) return {};
  const double peers = workers - 1, tails = peers * tail_bytes;
  // Parts to masters and sums back. A worker that mirrors many rows sends much and receives little,
  // then receives much: a link is as busy as its busier direction, twice.
  const double mean = 2 * std::max(copies - 1, 0.0) * rows_bytes / workers;
  const double most = std::max(mean, 2 * busiest * rows_bytes);
  const double pieces =
      std::max(1.0, std::ceil(most / (2 * peers * static_cast<double>(kWirePieceBytes))));
  return {2 * peers * pieces, most + tails, 2, mean + tails};
}

}  // namespace meanwhile::exchange
