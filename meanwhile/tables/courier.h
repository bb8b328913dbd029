// Moves rows between the workers that own them and the shards that want them, step by step: in a
// step every worker has some of its shards at work.
//
//   fetch   the numbers of wanted rows go to their owners, the rows come back
//   push    what shards add goes to the owners, which keep it until the round ends
//
// All reads of a round are of the tables as they were when it began, so that the rows of the next
// step can be fetched, and what the last one added be sent, beside the work on this one. Both are
// collective: two rounds of messages between all workers for fetch, one for push.
//
// Memory of a worker: the rows of a step, twice where they are fetched beside work; what the shards
// of a step add; messages of about as much. A worker never holds the table: at most the slices that
// it owns, and these in files where they are too large (slice_store.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "meanwhile/tables/rows.h"
#include "meanwhile/tables/slice_store.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::tables {

// Rows and bytes that a worker received and sent.
struct Moved {
  std::int64_t rows = 0;           // read, by the worker's steps: of each step once
  std::int64_t rows_fetched = 0;   // of these, from other workers
  std::int64_t bytes_asked = 0;    // numbers of rows, sent
  std::int64_t bytes_fetched = 0;  // rows, received
  std::int64_t bytes_pushed = 0;   // what was added, sent
  std::int64_t messages = 0;
};

// Changes that the shards of a step add.
struct ShardDelta {
  int shard = 0;
  std::vector<SealedDelta> slices;
};

// Thread safety: none. With several workers, all make the same calls.
class Courier {
 public:
  // Borrows all. `transport`: null for a worker that is alone.
  Courier(transport::Transport* transport, const TableSet& set, SliceStore& store);

  // Fetches rows that stay until drop_kept(): later fetches take them from here.
  void keep(const Wants& wants);
  void drop_kept() { kept_.reset(); }

  // The rows of all these lists, which are settled. They stay valid until SliceStore::apply(),
  // and until drop_kept() where rows were kept. THROWS what Transport::wait() does; Error(kFailed)
  // for a message that is none, and a row that the table does not have.
  std::unique_ptr<HeldRows> fetch(std::span<const Wants> wants);

  // Hands what shards add to the owners' stores. THROWS as fetch().
  void push(std::vector<ShardDelta> added);

  const Moved& moved() const { return moved_; }
  void clear_moved() { moved_ = {}; }

 private:
  std::vector<transport::Bytes> swap(std::vector<transport::Bytes> to_each);
  int rank() const { return transport_ == nullptr ? 0 : transport_->rank(); }
  int workers() const { return transport_ == nullptr ? 1 : transport_->size(); }
  transport::Bytes answer(std::span<const std::byte> asked);

  transport::Transport* const transport_;
  const TableSet& set_;
  SliceStore& store_;
  std::unique_ptr<HeldRows> kept_;
  Moved moved_;
};

}  // namespace meanwhile::tables
