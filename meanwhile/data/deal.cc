#include "meanwhile/data/deal.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "meanwhile/base/random.h"

namespace meanwhile::data {

std::string to_string(Deal deal) { return deal == Deal::kContent ? "content" : "blocks"; }

std::optional<Deal> deal_of(std::string_view name) {
  for (const Deal deal : {Deal::kBlocks, Deal::kContent}) {
    if (name == to_string(deal)) return deal;
  }
  return std::nullopt;
}

std::int64_t block_rows(std::int64_t rows) {
  constexpr std::int64_t kFewestBlocks = 128;
  std::int64_t block = kBlockRows;
  while (block > 1 && rows / block < kFewestBlocks) block /= 2;
  return block;
}

std::vector<Shard> deal(std::int64_t rows, int shards, std::uint64_t seed) {
  const std::int64_t block = block_rows(rows);
  const std::int64_t blocks = rows / block + (rows % block != 0);
  const std::int64_t groups = blocks / shards + (blocks % shards != 0);
  std::vector<Shard> dealt(static_cast<std::size_t>(shards));
  for (int s = 0; s < shards; ++s) {
    dealt[static_cast<std::size_t>(s)].index = s;
    dealt[static_cast<std::size_t>(s)].blocks.reserve(static_cast<std::size_t>(groups));
  }

  const base::Random random(seed, base::Purpose::kDeal, static_cast<std::uint32_t>(shards), 0);
  std::vector<std::size_t> order(static_cast<std::size_t>(shards));
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t first = group * shards;
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size() - 1; i > 0; --i) {  // Fisher and Yates
      const auto index = static_cast<std::uint64_t>(first) + i;
      std::swap(order[i], order[static_cast<std::size_t>(random.below(index, i + 1))]);
    }
    const std::int64_t count = std::min<std::int64_t>(shards, blocks - first);
    for (std::int64_t b = 0; b < count; ++b) {
      Shard& shard = dealt[order[static_cast<std::size_t>(b)]];
      const std::int64_t begin = (first + b) * block;
      const std::int64_t end = std::min(begin + block, rows);
      shard.blocks.push_back({begin, end});
      shard.rows += end - begin;
    }
  }
  return dealt;
}

int default_shards(std::int64_t data_bytes) {
  constexpr std::int64_t kShardBytes = std::int64_t{256} << 20;
  int shards = 8;
  while (shards < 256 && data_bytes / shards + (data_bytes % shards != 0) > kShardBytes)
    shards *= 2;
  return shards;
}

}  // namespace meanwhile::data
