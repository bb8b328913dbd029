#include "meanwhile/graph/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/files/graph/graph_file.h"
#include "meanwhile/graph/describe.h"
#include "meanwhile/graph/graph.h"

namespace meanwhile::graph {

namespace {

using base::Error;
using base::ErrorKind;
using Rows = data::Sparse<float>;

constexpr std::string_view kEndings[] = {".el", ".wel", ".mtx", ".sg", ".wsg", ".safetensors"};
constexpr std::size_t kTextAtOnce = 1 << 20;

// Calls use(from, to, weight) for every edge, in order of rows.
template <class Use>
void each_edge(const Rows& rows, const Use& use) {
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const auto row = rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      const std::int64_t column = row.columns[k];
      if (column < rows.rows) {
        use(i, column, row.values[k]);
      } else {
        use(column - rows.rows, i, row.values[k]);
      }
    }
  }
}

bool is_weighted(const Rows& rows) {
  const auto count = static_cast<std::size_t>(rows.row_start[rows.rows]);
  return std::any_of(rows.values, rows.values + count, [](float w) { return w != 1; });
}

// Text that goes to a file in large pieces.
class TextFile {
 public:
  explicit TextFile(base::FileWriter& file) : file_(file) {}
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() > kTextAtOnce) flush();
  }
  void flush() {
    file_.write(text_);
    text_.clear();
  }

 private:
  base::FileWriter& file_;
  std::string text_;
};

std::string id_of(const data::Dataset& graph, std::int64_t vertex) {
  const auto at = static_cast<std::size_t>(vertex);
  if (!graph.class_names.empty()) return graph.class_names[at];
  return fmt::format("{}",
                     graph.labels.empty() ? vertex : static_cast<std::int64_t>(graph.labels[at]));
}

void write_list(base::FileWriter& file, const data::Dataset& graph, const Rows& rows,
                bool weighted) {
  TextFile text(file);
  each_edge(rows, [&](std::int64_t from, std::int64_t to, float weight) {
    if (weighted) {
      text.add("{} {} {}\n", id_of(graph, from), id_of(graph, to), weight);
    } else {
      text.add("{} {}\n", id_of(graph, from), id_of(graph, to));
    }
  });
  text.flush();
}

void write_matrix(base::FileWriter& file, const Rows& rows, bool weighted) {
  TextFile text(file);
  const bool directed = rows.cols != rows.rows;
  text.add("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n", weighted ? "real" : "pattern",
           directed ? "general" : "symmetric", rows.rows, rows.rows, rows.row_start[rows.rows]);
  each_edge(rows, [&](std::int64_t from, std::int64_t to, float weight) {
    // A symmetric matrix holds its lower triangle.
    if (!directed && from < to) std::swap(from, to);
    if (weighted) {
      text.add("{} {} {}\n", from + 1, to + 1, weight);
    } else {
      text.add("{} {}\n", from + 1, to + 1);
    }
  });
  text.flush();
}

struct GapEdge {
  std::int32_t other;
  std::int32_t weight;
};

// The edges at each vertex; `arriving`: by their targets.
void write_gap_half(base::FileWriter& file, const Rows& rows, bool weighted, bool arriving) {
  const bool directed = rows.cols != rows.rows;
  const auto vertices = static_cast<std::size_t>(rows.rows);
  std::vector<std::int64_t> starts(vertices + 1);
  const auto each_end = [&](const auto& use) {
    each_edge(rows, [&](std::int64_t from, std::int64_t to, float weight) {
      if (!directed || !arriving) use(from, to, weight);
      if (directed ? arriving : from != to) use(to, from, weight);
    });
  };
  each_end(
      [&](std::int64_t at, std::int64_t, float) { ++starts[static_cast<std::size_t>(at) + 1]; });
  for (std::size_t v = 0; v < vertices; ++v) starts[v + 1] += starts[v];
  std::vector<GapEdge> edges(static_cast<std::size_t>(starts.back()));
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  each_end([&](std::int64_t at, std::int64_t other, float weight) {
    edges[static_cast<std::size_t>(next[static_cast<std::size_t>(at)]++)] = {
        static_cast<std::int32_t>(other), static_cast<std::int32_t>(weight)};
  });
  for (std::size_t v = 0; v < vertices; ++v) {
    std::sort(edges.begin() + starts[v], edges.begin() + starts[v + 1],
              [](const GapEdge& a, const GapEdge& b) { return a.other < b.other; });
  }
  file.write(std::as_bytes(std::span(starts)));
  if (weighted) return file.write(std::as_bytes(std::span(edges)));
  std::vector<std::int32_t> others(edges.size());
  std::transform(edges.begin(), edges.end(), others.begin(),
                 [](const GapEdge& e) { return e.other; });
  file.write(std::as_bytes(std::span(others)));
}

void write_gap(base::FileWriter& file, const Rows& rows, bool weighted) {
  const bool directed = rows.cols != rows.rows;
  std::int64_t listed = 0;
  each_edge(rows, [&](std::int64_t from, std::int64_t to, float weight) {
    listed += !directed && from != to ? 2 : 1;
    if (!weighted || (weight == std::floor(weight) && weight < 0x1p31f)) return;
    throw Error(ErrorKind::kUsage, "edge {} {} weighs {}; .wsg holds whole numbers", from, to,
                weight);
  });
  const auto flag = static_cast<std::uint8_t>(directed);
  file.write(std::as_bytes(std::span(&flag, 1)));
  const std::int64_t sizes[] = {listed, rows.rows};
  file.write(std::as_bytes(std::span(sizes)));
  write_gap_half(file, rows, weighted, false);
  if (directed) write_gap_half(file, rows, weighted, true);
}

// Whether ids are numbers from 0 or 1 on, which formats without ids count themselves.
bool follow_each_other(const data::Dataset& graph) {
  if (graph.labels.empty()) return true;
  if (!graph.class_names.empty() || (graph.labels[0] != 0 && graph.labels[0] != 1)) return false;
  for (std::size_t v = 1; v < graph.labels.size(); ++v) {
    if (graph.labels[v] != graph.labels[v - 1] + 1) return false;
  }
  return true;
}

}  // namespace

std::string written_endings() {
  std::string text;
  for (const std::string_view ending : kEndings) {
    text += text.empty() ? "" : ending == kEndings[std::size(kEndings) - 1] ? " or " : ", ";
    text += ending;
  }
  return text;
}

bool is_written(const std::filesystem::path& path) {
  return std::find(std::begin(kEndings), std::end(kEndings), path.extension().string()) !=
         std::end(kEndings);
}

void write(const std::filesystem::path& path, const data::Dataset& graph) {
  if (!is_written(path)) {
    throw Error(ErrorKind::kUsage, "{}: expected a name that ends in {}", path.string(),
                written_endings());
  }
  const auto& rows = std::get<Rows>(graph.x);
  const std::string ending = path.extension().string();
  if (ending == ".safetensors") {
    return data::write_graph_file(path, graph, describe(rows).dump());
  }
  const bool weighted = is_weighted(rows);
  const bool holds_weights = ending == ".wel" || ending == ".wsg" || ending == ".mtx";
  const bool list = ending == ".el" || ending == ".wel";
  if (weighted && !holds_weights) {
    throw Error(ErrorKind::kUsage, "{}: the graph has weights; expected {}", path.string(),
                list ? ".wel" : ".wsg");
  }
  if (!list && !follow_each_other(graph)) {
    throw Error(ErrorKind::kUsage,
                "{}: vertices have ids that are not 0 to {}, nor 1 to {}; .el, .wel and "
                ".safetensors hold them",
                path.string(), rows.rows - 1, rows.rows);
  }
  base::FileWriter file(path);
  if (list) {
    write_list(file, graph, rows, ending == ".wel");
  } else if (ending == ".mtx") {
    write_matrix(file, rows, weighted);
  } else {
    write_gap(file, rows, ending == ".wsg");
  }
  file.commit();
}

}  // namespace meanwhile::graph
