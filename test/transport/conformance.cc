#include "test/transport/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>

#include "meanwhile/transport/collect.h"

namespace meanwhile::transport::conformance {
namespace {

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

// Asks until the message is done. The deadline is for a transport that never says so.
void ask(Transport& transport, Request request) {
  constexpr std::chrono::seconds kDeadline{60};
  const auto begin = std::chrono::steady_clock::now();
  while (!transport.done(request)) {
    expect(std::chrono::steady_clock::now() - begin < kDeadline, "worker {}: never done",
           transport.rank());
    std::this_thread::yield();
  }
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

void messages_of_any_size(Transport& transport) {
  int number = 0;
  for (const std::size_t size : sizes({0, 1, 2, 7, 8, 4095, 4096, 4097, 65536, 70001, 1 << 20})) {
    round_trip(transport, size, number++);
  }
}

void long_messages(Transport& transport) { round_trip(transport, 2 * kShortMessage + 5, 3); }

void a_message_shorter_than_the_buffer(Transport& transport) {
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

void messages_to_itself(Transport& transport) {
  const Bytes out = message(1, 2, 3, 100000);
  Bytes in(out.size());
  const Request receive = transport.receive(transport.rank(), 9, in);
  transport.wait(transport.send(transport.rank(), 9, out));
  transport.wait(receive);
  expect(in == out, "bytes to itself came changed");
}

// Every worker sends only after the next one has seen that nothing has come.
void done_before_and_after_arrival(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  const int next = (rank + 1) % P, before = (rank + P - 1) % P;
  for (const std::size_t size : sizes({0, 5, 4097, 2 * kShortMessage + 5})) {
    const Bytes out = message(rank, next, 4, size);
    Bytes in(size), go(1), went(1);
    const Request receive = transport.receive(before, 11, in);
    expect(!transport.done(receive), "{} bytes are done that nobody sent", size);
    const Request may_send = transport.receive(next, 12, go);
    const Request told = transport.send(before, 12, went);
    ask(transport, may_send);
    const Request send = transport.send(next, 11, out);
    ask(transport, receive);
    ask(transport, send);
    expect(transport.done(receive), "{} bytes are no longer done", size);
    expect(transport.wait(receive) == size, "a receive of {} bytes says otherwise", size);
    expect(transport.wait(send) == size, "a send of {} bytes says otherwise", size);
    transport.wait(may_send);
    transport.wait(told);
    expect(in == message(before, rank, 4, size), "{} bytes came changed", size);
  }
}

// All sends are waited for before any receive: posted receives must proceed meanwhile.
void many_messages_at_once(Transport& transport) {
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

void gather_on_every_worker(Transport& transport) {
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

void all_to_all_delivers(Transport& transport) {
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

void failure_reaches_polling_workers(Transport& transport) {
  const int P = transport.size(), rank = transport.rank();
  const std::string expected = fmt::format("worker {}: the disk is full", P - 1);
  Bytes in(10);
  const Request request = transport.receive(rank, 3, in);
  try {
    if (rank == P - 1) transport.fail(base::ErrorKind::kSystem, "the disk is full");
    ask(transport, request);
    expect(false, "worker {} noticed nothing", rank);
  } catch (const base::Error& error) {
    expect(error.what() == expected, "worker {} was told \"{}\"", rank, error.what());
  }
}

// Everybody waits for the last worker, and it for itself.
void a_silent_worker_is_named(Transport& transport) {
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
  std::vector<Case> all = {
      {"MessagesOfAnySize", messages_of_any_size},
      {"LongMessages", long_messages},
      {"AMessageShorterThanTheBuffer", a_message_shorter_than_the_buffer},
      {"OrderedByTag", ordered_by_tag},
      {"MessagesToItself", messages_to_itself},
      {"DoneBeforeAndAfterArrival", done_before_and_after_arrival},
      {"ManyMessagesAtOnce", many_messages_at_once},
      {"GatherOnEveryWorker", gather_on_every_worker},
      {"AllToAllDelivers", all_to_all_delivers},
  };
  for (Case& sum : sum_cases()) all.push_back(std::move(sum));
  return all;
}

std::vector<Case> last_cases() {
  std::vector<Case> all = {{"FailureReachesAll", failure_reaches_all},
                           {"FailureReachesPollingWorkers", failure_reaches_polling_workers},
                           {"ASilentWorkerIsNamed", a_silent_worker_is_named}};
  for (Case& sum : last_sum_cases()) all.push_back(std::move(sum));
  return all;
}

}  // namespace meanwhile::transport::conformance
