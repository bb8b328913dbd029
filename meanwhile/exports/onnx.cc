// The graph: cells become the encoded columns E [rows, cols] in float64; E times factors, divided
// by the row's length where the model does so; then margins E W + b, or distances by
// |x - c|^2 = |x|^2 - 2 x.c + |c|^2 about the mean of the centres, which keeps the digits where
// values are large. A word becomes the number of its level (LabelEncoder), and that a row of a
// table with one line for each state of the cell (Gather).
#include "meanwhile/exports/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/version.h"
#include "meanwhile/exports/onnx_graph.h"

namespace meanwhile::exports {

namespace {

constexpr std::size_t kMostBytes = std::size_t{2'000'000'000};

class Writer {
 public:
  explicit Writer(const Scorer& scorer) : s_(scorer), graph_(names_of_inputs(scorer)) {}

  Message graph() {
    std::string x = s_.has_words() ? from_table() : from_matrix();
    x = weighed(x);
    if (s_.task == Task::kClusters) {
      clusters(x);
    } else {
      margins(x);
    }
    if (graph_.bytes() > kMostBytes) {
      throw base::Error(base::ErrorKind::kUsage,
                        "the model has {:.1f} GB of numbers, an ONNX file at most 2",
                        static_cast<double>(graph_.bytes()) / 1e9);
    }
    return graph_.message("meanwhile");
  }

 private:
  using Strings = std::vector<std::string>;

  static std::set<std::string> names_of_inputs(const Scorer& scorer) {
    if (!scorer.has_words()) return {"X"};
    std::set<std::string> names;
    for (const Cell& cell : scorer.cells) names.insert(cell.name);
    return names;
  }

  static std::int64_t size(std::size_t n) { return static_cast<std::int64_t>(n); }
  static OnnxGraph::Attribute axis(std::int64_t value) { return OnnxGraph::whole("axis", value); }
  std::string as_double(const std::string& value) {
    return graph_.node("Cast", {value},
                       {OnnxGraph::whole("to", static_cast<int>(OnnxType::kDouble))});
  }
  std::string scalar(double value) { return graph_.doubles(std::vector{value}, {}); }
  // Sums of rows, [rows, 1].
  std::string row_sums(const std::string& value) {
    const std::int64_t columns[] = {1};
    return graph_.node("ReduceSum", {value, graph_.wholes(columns, {1})},
                       {OnnxGraph::whole("keepdims", 1)});
  }

  std::string from_matrix() {
    const std::int64_t width = size(s_.cells.size());
    graph_.input("X", OnnxType::kFloat, width);
    if (!s_.fills) return as_double("X");
    std::vector<double> fills;
    bool indicators = false;
    for (const Cell& cell : s_.cells) {
      fills.push_back(cell.fill);
      indicators = indicators || cell.indicator;
    }
    const std::string missing = graph_.node("IsNaN", {"X"});
    const std::string filled =
        graph_.node("Where", {missing, graph_.doubles(fills, {1, width}), as_double("X")});
    if (!indicators) return filled;
    // Columns of values, then of what is missing, in the order of the encoding.
    const std::string both = graph_.node("Concat", {filled, as_double(missing)}, {axis(1)});
    std::vector<std::int64_t> order;
    for (std::size_t i = 0; i < s_.cells.size(); ++i) {
      order.push_back(size(i));
      if (s_.cells[i].indicator) order.push_back(size(i) + width);
    }
    return graph_.node("Gather", {both, graph_.wholes(order, {size(order.size())})}, {axis(1)});
  }

  std::string from_table() {
    Strings parts;
    for (const Cell& cell : s_.cells) {
      graph_.input(cell.name, cell.is_word() ? OnnxType::kString : OnnxType::kFloat, 1);
      if (cell.width() == 0) continue;  // a word without levels
      if (cell.is_word()) {
        parts.push_back(word(cell));
        continue;
      }
      std::string value = as_double(cell.name);
      const bool asks = s_.fills || cell.indicator;
      const std::string missing = asks ? graph_.node("IsNaN", {cell.name}) : "";
      if (s_.fills) value = graph_.node("Where", {missing, scalar(cell.fill), value});
      parts.push_back(value);
      if (cell.indicator) parts.push_back(as_double(missing));
    }
    return graph_.node("Concat", parts, {axis(1)});
  }

  // Encoded columns of a word, [rows, width].
  std::string word(const Cell& cell) {
    auto states = s_.states(cell);
    const std::int64_t levels = size(cell.levels.size());
    if (!s_.fills) {
      std::fill(states.back().begin(), states.back().end(),
                std::numeric_limits<double>::quiet_NaN());
    }
    std::vector<double> table;
    for (const auto& state : states) table.insert(table.end(), state.begin(), state.end());
    Strings keys = cell.levels;
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < levels; ++i) numbers.push_back(i);
    keys.emplace_back();
    numbers.push_back(levels + 1);
    const std::string state = graph_.node(
        "LabelEncoder", {cell.name},
        {OnnxGraph::texts("keys_strings", keys), OnnxGraph::wholes("values_int64s", numbers),
         OnnxGraph::whole("default_int64", levels)},
        {}, true);
    const std::int64_t flat[] = {-1};
    const std::string rows = graph_.node("Reshape", {state, graph_.wholes(flat, {1})});
    return graph_.node("Gather",
                       {graph_.doubles(table, {size(states.size()), size(cell.width())}), rows},
                       {axis(0)});
  }

  std::string weighed(std::string x) {
    if (s_.is_weighed()) {
      x = graph_.node("Mul", {x, graph_.doubles(s_.factors, {1, size(s_.cols)})});
    }
    if (s_.normalize) x = by_length(x, 1);
    return x;
  }

  // Rows over their lengths; rows of zeros stay as they are.
  std::string by_length(const std::string& x, double of_zeros) {
    const std::string length = graph_.node("Sqrt", {row_sums(graph_.node("Mul", {x, x}))});
    const std::string empty = graph_.node("Equal", {length, scalar(0)});
    return graph_.node("Div", {x, graph_.node("Where", {empty, scalar(of_zeros), length})});
  }

  void clusters(std::string x) {
    const std::size_t K = s_.outputs, D = s_.cols;
    std::vector<double> centers = s_.weights, across(K * D), squares(K);
    if (s_.cosine) {
      x = by_length(x, 1);
    } else {
      std::vector<double> mean(D);
      for (std::size_t i = 0; i < K * D; ++i) mean[i % D] += centers[i] / static_cast<double>(K);
      for (std::size_t i = 0; i < K * D; ++i) centers[i] -= mean[i % D];
      x = graph_.node("Sub", {x, graph_.doubles(mean, {1, size(D)})});
    }
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t j = 0; j < D; ++j) {
        across[j * K + k] = (s_.cosine ? -1 : -2) * centers[k * D + j];
        squares[k] += centers[k * D + j] * centers[k * D + j];
      }
      if (s_.cosine) squares[k] = 1;
    }
    const std::string products =
        graph_.node("MatMul", {x, graph_.doubles(across, {size(D), size(K)})});
    std::string distances = graph_.node("Add", {products, graph_.doubles(squares, {1, size(K)})});
    const std::string best =
        graph_.node("ArgMin", {distances}, {axis(1), OnnxGraph::whole("keepdims", 0)},
                    graph_.free_name("label"));
    graph_.output(best, OnnxType::kInt64, -1);
    if (!s_.cosine) {
      distances = graph_.node("Add", {distances, row_sums(graph_.node("Mul", {x, x}))});
      distances = graph_.node("Sqrt", {graph_.node("Max", {distances, scalar(0)})});
    }
    distances = graph_.node("Identity", {distances}, {}, graph_.free_name("distances"));
    graph_.output(distances, OnnxType::kDouble, size(K));
  }

  void margins(const std::string& x) {
    const std::int64_t C = size(s_.outputs);
    const std::string products =
        graph_.node("MatMul", {x, graph_.doubles(s_.weights, {size(s_.cols), C})});
    const std::string name = graph_.free_name(s_.task == Task::kNumber ? "prediction" : "margins");
    const std::string z =
        graph_.node("Add", {products, graph_.doubles(s_.intercept, {1, C})}, {}, name);
    graph_.output(name, OnnxType::kDouble, C);
    if (s_.task == Task::kNumber) return;
    label(z);
    if (!s_.logistic) return;
    const std::string result = graph_.free_name("probabilities");
    probabilities(z, result);
    graph_.output(result, OnnxType::kDouble, size(s_.classes()));
  }

  void label(const std::string& z) {
    std::string number;
    if (s_.task == Task::kTwoClasses) {
      const std::int64_t flat[] = {-1};
      const std::string above = graph_.node("Greater", {z, scalar(0)});
      number = graph_.node("Cast", {graph_.node("Reshape", {above, graph_.wholes(flat, {1})})},
                           {OnnxGraph::whole("to", static_cast<int>(OnnxType::kInt64))});
    } else {
      number = graph_.node("ArgMax", {z}, {axis(1), OnnxGraph::whole("keepdims", 0)});
    }
    const std::int64_t K = size(s_.classes());
    std::string names;
    OnnxType type = OnnxType::kString;
    const auto& values = s_.class_values;
    if (!s_.class_names.empty()) {
      names = graph_.strings(s_.class_names);
    } else if (std::all_of(values.begin(), values.end(),
                           [](double v) { return v == std::floor(v) && std::abs(v) < 0x1p53; })) {
      type = OnnxType::kInt64;
      names = graph_.wholes(std::vector<std::int64_t>(values.begin(), values.end()), {K});
    } else {
      type = OnnxType::kDouble;
      names = graph_.doubles(values, {K});
    }
    graph_.output(graph_.node("Gather", {names, number}, {axis(0)}, graph_.free_name("label")),
                  type, -1);
  }

  void probabilities(const std::string& z, const std::string& result) {
    if (s_.task == Task::kTwoClasses) {
      const std::string up = graph_.node("Sigmoid", {z});
      const std::string down = graph_.node("Sigmoid", {graph_.node("Neg", {z})});
      graph_.node("Concat", {down, up}, {axis(1)}, result);
    } else if (s_.softmax) {
      graph_.node("Softmax", {z}, {axis(1)}, result);
    } else {
      const std::string each = graph_.node("Sigmoid", {z});
      const std::string sum = row_sums(each);
      const std::string none = graph_.node("Equal", {sum, scalar(0)});
      const std::string equal = scalar(1 / static_cast<double>(s_.outputs));
      graph_.node("Where", {none, equal, graph_.node("Div", {each, sum})}, {}, result);
    }
  }

  const Scorer& s_;
  OnnxGraph graph_;
};

Message operators(std::string_view domain, std::int64_t version) {
  Message set;
  if (!domain.empty()) set.text(1, domain);
  set.number(2, version);
  return set;
}

}  // namespace

std::string onnx_model(const Scorer& scorer, std::string_view about) {
  Message model;
  model.number(1, 8);  // the version of the file format, that of ONNX 1.12
  model.text(2, "meanwhile");
  model.text(3, base::kVersion);
  model.text(6, about);
  model.message(7, Writer(scorer).graph());
  model.message(8, operators("", 17));
  model.message(8, operators("ai.onnx.ml", 3));
  return model.bytes();
}

}  // namespace meanwhile::exports
