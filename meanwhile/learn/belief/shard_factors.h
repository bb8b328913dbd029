// The factors of one shard in the form in which messages are made. A cache: made from the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/learn/belief/facts.h"

namespace meanwhile::learn::belief {

// Size of a page of an update, so that a shard sends only the pages it touches.
inline constexpr std::int64_t kPageValues = 256;

// Workers that touch a page of beliefs, on average, if worker w has the factors of_workers[w], and
// pages that a worker sends to where they are added, or gets there: allreduce gives every worker as
// many pages, in order. Not known for rows that are no factor graph.
data::Spread page_spread(const data::Matrix& rows, std::span<const data::RowRange> of_workers);

// A message goes from a factor to one of its variables; messages of a factor follow each other in
// the order of its scope. Only factors of two variables or more are here.
struct ShardFactors {
  std::vector<std::uint32_t> factor_start = {0};  // first message of each factor
  std::vector<std::uint32_t> factor;              // of each message
  std::vector<std::uint32_t> variable;            // of each message
  std::vector<std::uint32_t> belief_start;        // first value of the variable among all beliefs
  std::vector<std::uint32_t> value_start = {0};   // first value of each message in the memory

  // Tables, dense, the largest entry 1; hard zeros are 0, and other entries are at least
  // kLeastEntry.
  std::vector<std::uint64_t> table_start;
  std::vector<double> tables;
  // Ratios: the entries of states (0, 1), (1, 0), (1, 1) over that of (0, 0); with kVectorPadding
  // numbers behind the last ones.
  std::vector<double> b, c, d;
  std::vector<double> log_scale;  // of each factor: what the table was divided by

  // Messages into variables at place p of a sweep: by_order[order_start[p] ..].
  std::vector<std::uint32_t> order_start, by_order;
  std::vector<std::int64_t> pages;  // that messages of this shard touch, ascending

  std::size_t factors() const { return log_scale.size(); }
  std::size_t messages() const { return variable.size(); }
  std::size_t arity(std::size_t f) const { return factor_start[f + 1] - factor_start[f]; }
  std::span<const std::uint32_t> at_order(std::int64_t place) const {
    const auto p = static_cast<std::size_t>(place);
    return std::span(by_order).subspan(order_start[p], order_start[p + 1] - order_start[p]);
  }
};

// exp(-99): messages are clipped before a smaller entry could matter.
inline constexpr double kLeastEntry = 1e-43;

// The values of all messages of a shard, which its memory has room for: one for each state.
// REQUIRES: check_row() has passed.
std::int64_t message_values(const data::Sparse<double>& rows, data::RowRange range,
                            std::int64_t variables);

// THROWS Error(kInput) when the shard has more messages or entries than it may.
ShardFactors shard_factors(const data::Sparse<double>& rows, data::RowRange range,
                           const Facts& facts);

// A table divided by its largest entry, and the logarithm of that entry.
double normalized_table(const data::FactorRow& factor, std::int64_t variables,
                        std::span<double> table);
// log(x), x > 0 and finite, to the same bits on every machine.
double log_of(double x);

}  // namespace meanwhile::learn::belief
