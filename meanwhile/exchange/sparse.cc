#include "meanwhile/exchange/sparse.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace meanwhile::exchange {
namespace {

bool is_touched(double value) { return std::bit_cast<std::uint64_t>(value) != 0; }

}  // namespace

std::size_t count_touched(std::span<const double> piece) {
  constexpr std::size_t kBlock =
      1024;  // between looks at the rule, so that the count is a plain loop
  std::size_t touched = 0;
  for (std::size_t begin = 0; begin < piece.size(); begin += kBlock) {
    const auto block = piece.subspan(begin, std::min(kBlock, piece.size() - begin));
    for (const double value : block) touched += is_touched(value) ? 1 : 0;
    if (!sparse_pays(piece.size(), touched)) break;
  }
  return touched;
}

std::span<const std::byte> pack(std::span<const double> piece, transport::Bytes& space) {
  const std::size_t touched = count_touched(piece);
  if (!sparse_pays(piece.size(), touched)) return std::as_bytes(piece);
  space.resize(touched * kSparseEntryBytes);
  std::byte* value = space.data();
  std::byte* place = space.data() + touched * sizeof(double);
  for (std::size_t i = 0; i < piece.size(); ++i) {
    if (!is_touched(piece[i])) continue;
    const auto index = static_cast<std::uint32_t>(i);
    std::memcpy(value, &piece[i], sizeof(double));
    std::memcpy(place, &index, sizeof index);
    value += sizeof(double);
    place += sizeof index;
  }
  return space;
}

void unpack(std::span<double> piece, std::size_t bytes, transport::Bytes& space) {
  if (bytes == piece.size_bytes()) return;
  const std::size_t touched = bytes / kSparseEntryBytes;
  if (bytes > piece.size_bytes() || bytes % kSparseEntryBytes != 0) {
    throw base::Error(base::ErrorKind::kFailed,
                      "a message of {} bytes is no piece of {} values: do all workers run the same "
                      "program on the same data?",
                      bytes, piece.size());
  }
  const auto* received = reinterpret_cast<const std::byte*>(piece.data());
  space.assign(received, received + bytes);
  std::fill(piece.begin(), piece.end(), 0.0);
  for (std::size_t i = 0; i < touched; ++i) {
    std::uint32_t index = 0;
    std::memcpy(&index, space.data() + touched * sizeof(double) + i * sizeof index, sizeof index);
    if (index >= piece.size()) {
      throw base::Error(base::ErrorKind::kFailed, "place {} in a piece of {} values", index,
                        piece.size());
    }
    std::memcpy(&piece[index], space.data() + i * sizeof(double), sizeof(double));
  }
}

}  // namespace meanwhile::exchange
