// The pieces of an update on their way: what the exchanges have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "meanwhile/exchange/partial.h"
#include "meanwhile/exchange/rows.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

// How many pieces a worker sends ahead, so that adding overlaps receiving. With kPieceBytes that is
// about 2 MiB to each other worker. Of five pairs of sizes tried over eight links of 200 or 500
// Mbit/s none was clearly better, and 3 or 8 pieces of 1 MiB were slower; bench/links.sh measures
// it.
inline constexpr std::size_t kWindow = 8;

// Values a piece: less than piece_bytes when a worker holds a piece of each of many `terms`, twice
// in a window, to bound that memory; but not so small that messages cost more than what they carry.
inline std::size_t piece_values(std::size_t terms, std::size_t piece_bytes) {
  constexpr std::size_t kWindowBytes = 64 << 20, kLeastBytes = 16 << 10;
  const std::size_t fair = kWindowBytes / (2 * kWindow * std::max<std::size_t>(terms, 1));
  const std::size_t bytes = std::min(std::max(fair, kLeastBytes), piece_bytes);
  return std::max<std::size_t>(bytes / sizeof(double), 1);
}

// A subtree's sum that another worker has.
struct Source {
  int worker = 0;
  Range range;
};

// The parts of the sum over all shards that workers first .. last - 1, of `workers` in all, hold.
std::vector<Source> sources(const Division& division, int first, int last, int workers);

// Sends pieces, and keeps what it packed until wait().
class Outbox {
 public:
  Outbox(transport::Transport& transport, Traffic& traffic)
      : transport_(&transport), traffic_(&traffic) {}

  // Memory for a content that shall live until wait().
  transport::Bytes& space();
  // Borrows `content`, that of a piece of `units` units of `run`, until wait().
  void send(std::span<const int> to, int tag, const Run& run, std::size_t units,
            std::span<const std::byte> content);
  void wait();

 private:
  transport::Transport* transport_;
  Traffic* traffic_;
  std::deque<transport::Bytes> spaces_;  // kept from one use to the next
  std::size_t used_ = 0;
  std::vector<transport::Request> requests_;
};

// Receives pieces.
class Inbox {
 public:
  explicit Inbox(transport::Transport& transport) : transport_(&transport) {}

  // `room` is that of the whole piece of `run`. wait() sets `content`, which lies there.
  void receive(int from, int tag, const Run& run, std::span<std::byte> room,
               std::span<const std::byte>& content);
  // After it the contents are there.
  void wait();

 private:
  struct Open {
    transport::Request request;
    Run run;
    std::span<std::byte> room;
    std::span<const std::byte>* content;
  };
  transport::Transport* transport_;
  std::vector<Open> open_;
  transport::Bytes space_;
};

// A piece that was received, or is to be.
struct Received {
  transport::Bytes memory;
  std::span<const std::byte> content;
};

}  // namespace meanwhile::exchange
