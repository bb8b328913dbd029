#include "meanwhile/data/files/graph/graph_file.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/text/byte_stream.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr char kGraph[] = "graph";  // key of the metadata

}  // namespace

bool is_graph_file(const std::filesystem::path& path) { return path.extension() == ".safetensors"; }

bool holds_graph(const std::filesystem::path& path) {
  if (!is_graph_file(path)) return false;
  try {
    return SafetensorsFile(path).metadata().count(kGraph) != 0;
  } catch (const Error&) {
    return false;
  }
}

Dataset read_graph_file(const std::filesystem::path& path) {
  ReadOptions options;
  options.format = &kSafetensorsReader;
  Dataset data = read({path}, options);
  const auto wrong = [&](const char* what) {
    return Error(ErrorKind::kInput,
                 "{}: {}; 'convert' with `directed` or `undirected` writes graphs",
                 display_name(path), what);
  };
  const SafetensorsFile file(path);
  if (file.metadata().count(kGraph) == 0) throw wrong("holds rows of a table, not a graph");
  const auto* const rows = std::get_if<Sparse<float>>(&data.x);
  if (rows == nullptr || (rows->cols != rows->rows && rows->cols != 2 * rows->rows)) {
    throw wrong("holds no graph");
  }
  const std::int64_t stored = rows->row_start[rows->rows];
  for (std::int64_t i = rows->row_start[0]; i < stored; ++i) {
    if (!(rows->values[i] >= 0 && std::isfinite(rows->values[i]))) {
      throw wrong("has an edge whose weight is negative or no number");
    }
  }
  return data;
}

void write_graph_file(const std::filesystem::path& path, const Dataset& graph,
                      const std::string& facts) {
  const auto& rows = std::get<Sparse<float>>(graph.x);
  const auto count = static_cast<std::size_t>(rows.rows);
  const auto stored = static_cast<std::size_t>(rows.row_start[rows.rows]);
  std::map<std::string, Tensor> tensors;
  const auto put = [&]<class T>(const char* name, const T* values, std::size_t size) {
    tensors[name] = tensor_of<T>(std::span(values, size), {static_cast<std::int64_t>(size)});
  };
  put("row_start", rows.row_start, count + 1);
  put("columns", rows.columns, stored);
  put("values", rows.values, stored);
  if (!graph.labels.empty()) put("labels", graph.labels.data(), count);
  Metadata metadata = {{"kind", "data"},
                       {"rows", fmt::format("{}", rows.rows)},
                       {"cols", fmt::format("{}", rows.cols)},
                       {"format_version", "1"},
                       {"layout", "sparse"},
                       {kGraph, facts}};
  if (!graph.class_names.empty()) {
    metadata["class_names"] = base::Json(graph.class_names).dump();
  }
  write_safetensors(path, tensors, metadata);
}

}  // namespace meanwhile::data
