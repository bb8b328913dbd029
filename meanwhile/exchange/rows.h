// A piece of a run, and its content: the form in which pieces are sent, received and added.
//
//   dense run     all values of the piece
//   sparse run    k rows, then their k places in the piece (uint32, ascending); or, where that is
//                 no shorter, all rows. The number of bytes tells the two apart. Rows that are
//                 absent are the identity in a content of all rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

// Units first .. last - 1 of a run: what travels as one message.
struct Piece {
  std::size_t run = 0;
  std::int64_t first = 0, last = 0;

  std::size_t units() const { return static_cast<std::size_t>(last - first); }
};

// Values first .. last - 1 of all runs laid end to end, in pieces of at most `piece_values`, but
// one row at least. A row that an end divides belongs to the stretch behind that end, so that
// stretches which follow each other have every row once.
std::vector<Piece> pieces_of(std::span<const Run> runs, std::int64_t first, std::int64_t last,
                             std::size_t piece_values);

// The content of an update's piece: where it lies, or written to `space`.
// REQUIRES: the update is settled.
std::span<const std::byte> content_of(const Update& update, const Piece& piece,
                                      transport::Bytes& space);

// Where to receive or add a piece of `update`: dense values in their own place, rows in `space`.
std::span<std::byte> room_for(Update& update, const Piece& piece, transport::Bytes& space);

// After a content was received or added in room_for(): brings rows to their place. Every row of
// `update` comes once. THROWS Error(kFailed) when `content` is none of the piece.
void put(Update& update, const Piece& piece, std::span<const std::byte> content);

// The sum of a subtree.
struct PieceTerm {
  Range range;
  std::span<const std::byte> content;
};

// Adds contents of a piece along the one tree, into `out`, which is room for the whole piece.
// Returns the content of the sum, in `out`. Costs the rows that any term has.
// REQUIRES: as add_terms(). THROWS Error(kFailed) when int64 overflows or a term is no content.
std::span<const std::byte> add_pieces(const Run& run, const Piece& piece, Range node,
                                      std::span<const PieceTerm> terms, std::span<std::byte> out);

}  // namespace meanwhile::exchange
