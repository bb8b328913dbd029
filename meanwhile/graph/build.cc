#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/graph/graph.h"
#include "meanwhile/graph/numbering.h"

namespace meanwhile::graph {

namespace {

using base::Error;
using base::ErrorKind;
using data::Edges;

constexpr std::int64_t kRowsAtOnce = 4096;

// A listed edge in the row of one of its ends.
struct Entry {
  std::uint32_t other;  // the other end; twice that and 1 if it was listed from there
  float weight;
};

// Entries by row, each row in order of the other ends.
struct Lists {
  std::vector<std::int64_t> starts;  // of each row, and the end
  base::Buffer<Entry> entries;
};

template <class Use>
void for_rows(base::ThreadPool& pool, std::int64_t rows, const Use& use) {
  pool.run((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::int64_t piece, int) {
    const std::int64_t end = std::min(rows, (piece + 1) * kRowsAtOnce);
    for (std::int64_t row = piece * kRowsAtOnce; row < end; ++row) use(row);
  });
}

// Sorts `count` entries into rows: entry(i) gives the row and the entry.
template <class Get>
Lists sorted_lists(std::size_t count, std::int64_t rows, base::ThreadPool& pool, const Get& entry) {
  Lists lists;
  lists.starts.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (std::size_t i = 0; i < count; ++i) ++lists.starts[entry(i).first + 1];
  std::partial_sum(lists.starts.begin(), lists.starts.end(), lists.starts.begin());
  lists.entries.resize(count);
  std::vector<std::int64_t> next(lists.starts.begin(), lists.starts.end() - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [row, value] = entry(i);
    lists.entries[static_cast<std::size_t>(next[row]++)] = value;
  }
  for_rows(pool, rows, [&](std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    // Entries with one end stay in the order of the file: weights add up in it.
    std::stable_sort(lists.entries.begin() + lists.starts[at],
                     lists.entries.begin() + lists.starts[at + 1],
                     [](const Entry& a, const Entry& b) { return a.other < b.other; });
  });
  return lists;
}

// Edges in the rows of one of their ends, each once.
struct Merged {
  Lists lists;  // `other` is the end alone; ends of rows are in `ends`
  std::vector<std::int64_t> ends;
  Facts facts;
};

class Merging {
 public:
  Merging(const Edges& edges, const BuildOptions& options, const Numbering& numbering)
      : edges_(edges), options_(options), numbering_(numbering) {}

  Merged merged(base::ThreadPool& pool) {
    check_weights();
    Merged merged;
    merged.facts.listed = static_cast<std::int64_t>(edges_.size());
    const std::int64_t rows = numbering_.vertices;
    merged.lists = sorted_lists(edges_.size(), rows, pool, [&](std::size_t i) {
      const auto from = static_cast<std::uint32_t>(edges_.from[i]);
      const auto to = static_cast<std::uint32_t>(edges_.to[i]);
      const float weight = weighted() ? static_cast<float>(edges_.weights[i]) : 1;
      const bool swap = !options_.directed && from > to;
      return std::pair{static_cast<std::size_t>(swap ? to : from),
                       Entry{2 * (swap ? from : to) + swap, weight}};
    });
    merged.ends.resize(static_cast<std::size_t>(rows));
    std::vector<Facts> found(static_cast<std::size_t>(rows / kRowsAtOnce + 1));
    for_rows(pool, rows, [&](std::int64_t row) {
      merge_row(merged, row, found[static_cast<std::size_t>(row / kRowsAtOnce)]);
    });
    for (const Facts& some : found) {
      merged.facts.loops += some.loops;
      merged.facts.duplicates += some.duplicates;
      merged.facts.both_ways += some.both_ways;
    }
    return merged;
  }

 private:
  bool weighted() const { return options_.weights && !edges_.weights.empty(); }

  void check_weights() const {
    if (!weighted()) return;
    for (std::size_t i = 0; i < edges_.weights.size(); ++i) {
      const auto weight = static_cast<float>(edges_.weights[i]);
      if (std::isfinite(weight) && weight >= 0) continue;
      throw Error(ErrorKind::kInput, "edge {} (counted from 0) weighs {}, expected 0 or more", i,
                  edges_.weights[i]);
    }
  }

  std::string id_text(std::int64_t vertex) const {
    const auto at = static_cast<std::size_t>(vertex);
    if (!numbering_.names.empty()) return numbering_.names[at];
    return fmt::format("{}", numbering_.ids.empty() ? vertex : numbering_.ids[at]);
  }

  void merge_row(Merged& merged, std::int64_t row, Facts& facts) const {
    const auto at = static_cast<std::size_t>(row);
    auto to = static_cast<std::size_t>(merged.lists.starts[at]);
    const auto last = static_cast<std::size_t>(merged.lists.starts[at + 1]);
    auto& entries = merged.lists.entries;
    for (std::size_t i = to; i < last;) {
      const std::uint32_t other = entries[i].other / 2;
      double weight[2] = {0, 0};
      std::int64_t times[2] = {0, 0};
      for (; i < last && entries[i].other / 2 == other; ++i) {
        const std::size_t way = entries[i].other % 2;
        weight[way] += static_cast<double>(entries[i].weight);
        ++times[way];
      }
      const bool both = times[0] > 0 && times[1] > 0;
      facts.duplicates += std::max<std::int64_t>(times[0] - 1, 0);
      facts.duplicates += std::max<std::int64_t>(times[1] - 1, 0);
      facts.both_ways += both;
      double total = 1;
      if (weighted() || options_.duplicates == Duplicates::kCount) {
        total = times[0] > 0 ? weight[0] : weight[1];
        if (both && std::abs(weight[0] - weight[1]) > 1e-6 * (weight[0] + weight[1])) {
          throw Error(ErrorKind::kInput,
                      "edge {} {} weighs {} one way and {} the other; is the graph directed?",
                      id_text(row), id_text(other), weight[0], weight[1]);
        }
      }
      if (!std::isfinite(static_cast<float>(total))) {
        throw Error(ErrorKind::kInput,
                    "edge {} {} is listed {} times and weighs {} in all: too much", id_text(row),
                    id_text(other), times[0] + times[1], total);
      }
      const bool loop = static_cast<std::int64_t>(other) == row;
      if (edges_.both_ways && !options_.directed && !both && !loop) {
        throw Error(ErrorKind::kInput,
                    "edge {} {} is listed at one of its ends only, expected both", id_text(row),
                    id_text(other));
      }
      facts.loops += loop;
      if (loop && options_.loops == Loops::kDrop) continue;
      entries[to++] = {other, static_cast<float>(total)};
    }
    merged.ends[at] = static_cast<std::int64_t>(to);
  }

  const Edges& edges_;
  const BuildOptions& options_;
  const Numbering& numbering_;
};

// Calls use(row, entry) for every edge.
template <class Use>
void for_edges(const Merged& merged, const Use& use) {
  for (std::size_t row = 0; row < merged.ends.size(); ++row) {
    const auto end = static_cast<std::size_t>(merged.ends[row]);
    for (auto i = static_cast<std::size_t>(merged.lists.starts[row]); i < end; ++i) {
      use(row, merged.lists.entries[i]);
    }
  }
}

data::Dataset dataset_of(Merged merged, Numbering numbering, const BuildOptions& options,
                         base::ThreadPool& pool) {
  const auto vertices = static_cast<std::size_t>(numbering.vertices);
  std::vector<std::uint32_t> degree(vertices);
  std::size_t count = 0;
  for_edges(merged, [&](std::size_t row, const Entry& entry) {
    ++count;
    ++degree[row];
    if (entry.other != row) ++degree[entry.other];
  });
  const auto owns = [&](std::size_t a, std::size_t b) {
    return degree[a] != degree[b] ? degree[a] < degree[b] : a <= b;
  };
  // Every edge goes to its owner; then columns are ordered within each row.
  base::Buffer<std::int64_t> starts(vertices + 1);
  for_edges(merged, [&](std::size_t row, const Entry& entry) {
    ++starts[(owns(row, entry.other) ? row : entry.other) + 1];
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  base::Buffer<Entry> owned(count);
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  for_edges(merged, [&](std::size_t row, const Entry& entry) {
    const bool mine = owns(row, entry.other);
    const std::size_t owner = mine ? row : entry.other;
    const std::size_t other = mine ? entry.other : row;
    const std::size_t column = options.directed && !mine ? vertices + other : other;
    owned[static_cast<std::size_t>(next[owner]++)] = {static_cast<std::uint32_t>(column),
                                                      entry.weight};
  });
  merged = {};
  base::Buffer<std::int32_t> columns(count);
  base::Buffer<float> values(count);
  for_rows(pool, numbering.vertices, [&](std::int64_t row) {
    const std::int64_t begin = starts[static_cast<std::size_t>(row)];
    const std::int64_t end = starts[static_cast<std::size_t>(row) + 1];
    std::sort(owned.begin() + begin, owned.begin() + end,
              [](const Entry& a, const Entry& b) { return a.other < b.other; });
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      columns[i] = static_cast<std::int32_t>(owned[i].other);
      values[i] = owned[i].weight;
    }
  });
  data::Dataset data;
  const std::int64_t cols = options.directed ? 2 * numbering.vertices : numbering.vertices;
  data.x =
      data::Sparse<float>{own(data, std::move(starts)).data(), own(data, std::move(columns)).data(),
                          own(data, std::move(values)).data(), numbering.vertices, cols};
  if (!numbering.ids.empty()) {
    base::Buffer<double> ids(vertices);
    std::copy(numbering.ids.begin(), numbering.ids.end(), ids.begin());
    data.labels = own(data, std::move(ids));
  } else if (!numbering.names.empty()) {
    base::Buffer<double> places(vertices);
    std::iota(places.begin(), places.end(), 0.0);
    data.labels = own(data, std::move(places));
    data.class_names = std::move(numbering.names);
  }
  return data;
}

}  // namespace

Built build(Edges edges, const BuildOptions& options) {
  base::ThreadPool pool(options.threads);
  Numbering numbering = number_vertices(edges);
  Merged merged = Merging(edges, options, numbering).merged(pool);
  Built built;
  built.facts = merged.facts;
  const std::vector<std::string> notes = std::move(edges.notes);
  edges = {};
  built.data = dataset_of(std::move(merged), std::move(numbering), options, pool);
  built.data.notes = notes;
  return built;
}

Degrees degrees(const data::Sparse<float>& rows) {
  Degrees found;
  const bool directed = rows.cols != rows.rows;
  found.out.resize(static_cast<std::size_t>(rows.rows));
  if (directed) found.in.resize(static_cast<std::size_t>(rows.rows));
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    for (const std::int32_t column : rows.row(i).columns) {
      const bool comes = column >= rows.rows;
      const auto mine = static_cast<std::size_t>(i);
      const auto other = static_cast<std::size_t>(comes ? column - rows.rows : column);
      if (directed) {
        ++found.out[comes ? other : mine];
        ++found.in[comes ? mine : other];
      } else {
        ++found.out[mine];
        if (other != mine) ++found.out[other];
      }
    }
  }
  return found;
}

}  // namespace meanwhile::graph
