#include "meanwhile/transport/collect.h"

#include <cassert>
#include <cstdint>
#include <utility>

namespace meanwhile::transport {
namespace {

constexpr int kSizeTag = kFirstReservedTag, kDataTag = kSizeTag + 1, kBarrierTag = kSizeTag + 2;

// out(r) goes to worker r; what this worker has for itself is copied. Peers are taken in order from
// the next rank on, so that not all of them send to the same worker first.
template <class Out>
std::vector<Bytes> swap_all(Transport& transport, const Out& out) {
  const int P = transport.size(), rank = transport.rank();
  std::vector<std::uint64_t> sent(static_cast<std::size_t>(P)), coming(sent.size());
  std::vector<Request> requests;
  const auto peers = [&](const auto& visit) {
    for (int step = 1; step < P; ++step) visit(static_cast<std::size_t>((rank + step) % P));
  };
  const auto wait_all = [&] {
    for (const Request request : requests) transport.wait(request);
    requests.clear();
  };

  peers([&](std::size_t r) {
    const int peer = static_cast<int>(r);
    sent[r] = out(r).size();
    requests.push_back(
        transport.receive(peer, kSizeTag, std::as_writable_bytes(std::span(&coming[r], 1))));
    requests.push_back(transport.send(peer, kSizeTag, std::as_bytes(std::span(&sent[r], 1))));
  });
  wait_all();

  std::vector<Bytes> in(static_cast<std::size_t>(P));
  peers([&](std::size_t r) { in[r].resize(coming[r]); });
  peers([&](std::size_t r) {
    const int peer = static_cast<int>(r);
    requests.push_back(transport.receive(peer, kDataTag, in[r]));
    requests.push_back(transport.send(peer, kDataTag, out(r)));
  });
  wait_all();
  return in;
}

}  // namespace

std::vector<Bytes> all_gather(Transport& transport, std::span<const std::byte> mine) {
  std::vector<Bytes> all = swap_all(transport, [&](std::size_t) { return mine; });
  all[static_cast<std::size_t>(transport.rank())].assign(mine.begin(), mine.end());
  return all;
}

std::vector<Bytes> all_to_all(Transport& transport, std::vector<Bytes> to_each) {
  assert(std::ssize(to_each) == transport.size());
  std::vector<Bytes> in =
      swap_all(transport, [&](std::size_t r) { return std::span<const std::byte>(to_each[r]); });
  const auto self = static_cast<std::size_t>(transport.rank());
  in[self] = std::move(to_each[self]);
  return in;
}

// In step k every worker tells the worker 2^k further on; after the last step each has heard of
// all, through others.
void barrier(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  for (int distance = 1; distance < P; distance *= 2) {
    const Request heard = transport.receive((rank + P - distance) % P, kBarrierTag, {});
    const Request told = transport.send((rank + distance) % P, kBarrierTag, {});
    transport.wait(heard);
    transport.wait(told);
  }
}

}  // namespace meanwhile::transport
