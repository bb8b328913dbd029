// The input of an exchange, and a record of its cost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

// The sum of the updates of a whole subtree, settled. Borrowed.
struct Partial {
  Range range;
  const Update* update = nullptr;
};

// Messages and bytes that this worker sent.
struct Traffic {
  std::int64_t messages = 0, bytes = 0;
  std::int64_t sparse_messages = 0;  // of `messages`: shorter than all values
};

// Cost of an exchange at the busiest worker: what goes through its link one after the other. Where
// it sends and receives at the same time, one of the two is counted.
struct Cost {
  double messages = 0;
  double bytes = 0;  // when every coordinate was touched and a worker's range is one subtree
  double waits = 0;  // how many times the latency of a message is in the way, one after the other
  double sent = 0;   // bytes that a worker sends, on average
};

// Updates travel in pieces, so that adding overlaps receiving and memory is bounded.
inline constexpr std::size_t kPieceBytes = 256 << 10;
// Pieces between machines. MPI sends what is shorter than 64 KiB over TCP at once. Before a longer
// message it waits for an answer, which queues behind the other direction's bytes: the two
// directions of a link would take turns. Within one machine longer pieces are faster.
inline constexpr std::size_t kWirePieceBytes = 60 << 10;

inline std::size_t piece_bytes(const transport::Transport& transport) {
  return transport.crosses_network() ? kWirePieceBytes : kPieceBytes;
}

}  // namespace meanwhile::exchange
