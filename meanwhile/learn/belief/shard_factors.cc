#include "meanwhile/learn/belief/shard_factors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/belief/vector_math.h"

namespace meanwhile::learn::belief {

namespace {

constexpr std::uint64_t kMostMessages = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMostShardEntries = std::uint64_t{1} << 32;

}  // namespace

double log_of(double x) {
  double values[kVectorPadding + 1] = {};
  std::fill(std::begin(values), std::end(values), 1.0);
  const bool normal = x >= std::numeric_limits<double>::min();
  values[0] = normal ? x : x * 0x1p60;
  log_in_place(values, 1);
  return normal ? values[0] : values[0] - 60 * 0.6931471805599453;
}

double normalized_table(const data::FactorRow& factor, std::int64_t variables,
                        std::span<double> table) {
  const double most = *std::max_element(factor.values.begin(), factor.values.end());
  std::fill(table.begin(), table.end(), 0.0);
  for (std::size_t i = 0; i < factor.values.size(); ++i) {
    table[static_cast<std::size_t>(factor.places[i] - 2 * variables)] =
        std::max(factor.values[i] / most, kLeastEntry);
  }
  return log_of(most);
}

std::int64_t message_values(const data::Sparse<double>& rows, data::RowRange range,
                            std::int64_t variables) {
  std::int64_t values = 0;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const data::FactorRow factor = data::factor_row(rows, i, variables);
    if (factor.arity() < 2) continue;
    for (std::size_t k = 0; k < factor.arity(); ++k) values += factor.card(k);
  }
  return values;
}

ShardFactors shard_factors(const data::Sparse<double>& rows, data::RowRange range,
                           const Facts& facts) {
  ShardFactors shard;
  const std::int64_t V = facts.variables();
  std::vector<double> table;
  std::uint64_t entries = 0;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const data::FactorRow factor = data::factor_row(rows, i, V);
    if (factor.arity() < 2) continue;
    entries += static_cast<std::uint64_t>(factor.table_size);
    std::uint64_t values = shard.value_start.back();
    for (std::size_t k = 0; k < factor.arity(); ++k) {
      const auto v = static_cast<std::size_t>(factor.variables[k]);
      shard.factor.push_back(static_cast<std::uint32_t>(shard.factors()));
      shard.variable.push_back(static_cast<std::uint32_t>(v));
      shard.belief_start.push_back(static_cast<std::uint32_t>(facts.start[v]));
      values += facts.ratios ? 1 : static_cast<std::uint64_t>(factor.card(k));
      shard.value_start.push_back(static_cast<std::uint32_t>(values));
    }
    if (values > kMostMessages || entries > kMostShardEntries) {
      throw base::Error(base::ErrorKind::kInput,
                        "a shard has more than {} values of messages or {} entries of tables; use "
                        "more shards",
                        kMostMessages, kMostShardEntries);
    }
    shard.factor_start.push_back(static_cast<std::uint32_t>(shard.messages()));
    table.resize(static_cast<std::size_t>(factor.table_size));
    double scale = normalized_table(factor, V, table);
    if (facts.ratios) {
      shard.b.push_back(table[1] / table[0]);
      shard.c.push_back(table[2] / table[0]);
      shard.d.push_back(table[3] / table[0]);
      scale += log_of(table[0]);
    } else {
      shard.table_start.push_back(shard.tables.size());
      shard.tables.insert(shard.tables.end(), table.begin(), table.end());
    }
    shard.log_scale.push_back(scale);
  }
  // Vectors read beyond the end.
  for (auto* ratios : {&shard.b, &shard.c, &shard.d}) {
    ratios->insert(ratios->end(), kVectorPadding, 1.0);
  }
  const auto orders = static_cast<std::size_t>(facts.orders());
  shard.order_start.assign(orders + 1, 0);
  const auto place = [&](std::size_t m) {
    return static_cast<std::size_t>(facts.order[shard.variable[m]]);
  };
  for (std::size_t m = 0; m < shard.messages(); ++m) ++shard.order_start[place(m) + 1];
  for (std::size_t p = 0; p < orders; ++p) shard.order_start[p + 1] += shard.order_start[p];
  std::vector<std::uint32_t> next(shard.order_start.begin(), shard.order_start.end() - 1);
  shard.by_order.resize(shard.messages());
  std::vector<bool> touched(static_cast<std::size_t>(facts.values() / kPageValues + 1));
  for (std::size_t m = 0; m < shard.messages(); ++m) {
    shard.by_order[next[place(m)]++] = static_cast<std::uint32_t>(m);
    const std::int64_t first = facts.start[shard.variable[m]];
    const std::int64_t last = facts.start[shard.variable[m] + 1] - 1;
    for (std::int64_t page = first / kPageValues; page <= last / kPageValues; ++page) {
      touched[static_cast<std::size_t>(page)] = true;
    }
  }
  for (std::size_t page = 0; page < touched.size(); ++page) {
    if (touched[page]) shard.pages.push_back(static_cast<std::int64_t>(page));
  }
  return shard;
}

data::Spread page_spread(const data::Matrix& x, std::span<const data::RowRange> of_workers) {
  const auto* const rows = std::get_if<data::Sparse<double>>(&x);
  if (rows == nullptr) return {};
  const std::int64_t variables = data::variables_of(*rows);
  const std::int64_t pages = variables / kPageValues + 1;
  std::vector<int> last(static_cast<std::size_t>(pages), -1);  // worker that touched it last
  std::int64_t touched = 0, busiest = 0;
  std::vector<std::int64_t> received(of_workers.size());
  for (std::size_t w = 0; w < of_workers.size(); ++w) {
    std::int64_t sent = 0;
    for (std::int64_t i = of_workers[w].begin; i < of_workers[w].end; ++i) {
      const auto scope = data::factor_row(*rows, i, variables).variables;
      if (scope.size() < 2) continue;
      for (const std::int32_t v : scope) {
        const std::int64_t page = v / kPageValues;
        int& worker = last[static_cast<std::size_t>(page)];
        if (worker == static_cast<int>(w)) continue;
        worker = static_cast<int>(w);
        ++touched;
        const auto adder = static_cast<std::size_t>(page * std::ssize(of_workers) / pages);
        if (adder == w) continue;
        ++sent;
        ++received[adder];
      }
    }
    busiest = std::max(busiest, sent);
  }
  for (const std::int64_t count : received) busiest = std::max(busiest, count);
  const auto all = static_cast<double>(pages);
  return {std::max(1.0, static_cast<double>(touched) / all), static_cast<double>(busiest) / all};
}

}  // namespace meanwhile::learn::belief
