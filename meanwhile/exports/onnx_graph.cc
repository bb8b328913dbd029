// Numbers of fields are those of onnx.proto of the ONNX project.
#include "meanwhile/exports/onnx_graph.h"

namespace meanwhile::exports {

namespace {

// AttributeProto.
constexpr int kAttributeName = 1, kAttributeInt = 3, kAttributeInts = 8, kAttributeStrings = 9,
              kAttributeType = 20;
constexpr int kTypeInt = 2, kTypeInts = 7, kTypeStrings = 8;

OnnxGraph::Attribute attribute(std::string_view name, int type) {
  OnnxGraph::Attribute made;
  made.message.text(kAttributeName, name);
  made.message.number(kAttributeType, type);
  return made;
}

// ValueInfoProto of a tensor.
Message value_info(const std::string& name, OnnxType type, std::int64_t width) {
  Message rows, shape, tensor, any, info;
  rows.text(2, "rows");
  shape.message(1, rows);
  if (width >= 0) {
    Message cols;
    cols.number(1, width);
    shape.message(1, cols);
  }
  tensor.number(1, static_cast<int>(type));
  tensor.message(2, shape);
  any.message(1, tensor);
  info.text(1, name);
  info.message(2, any);
  return info;
}

template <class T>
std::string_view raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

OnnxGraph::Attribute OnnxGraph::whole(std::string_view name, std::int64_t value) {
  Attribute made = attribute(name, kTypeInt);
  made.message.number(kAttributeInt, value);
  return made;
}

OnnxGraph::Attribute OnnxGraph::wholes(std::string_view name,
                                       const std::vector<std::int64_t>& values) {
  Attribute made = attribute(name, kTypeInts);
  for (const std::int64_t value : values) made.message.number(kAttributeInts, value);
  return made;
}

OnnxGraph::Attribute OnnxGraph::texts(std::string_view name,
                                      const std::vector<std::string>& values) {
  Attribute made = attribute(name, kTypeStrings);
  for (const std::string& value : values) made.message.text(kAttributeStrings, value);
  return made;
}

void OnnxGraph::input(const std::string& name, OnnxType type, std::int64_t width) {
  inputs_.push_back(value_info(name, type, width));
}

void OnnxGraph::output(const std::string& name, OnnxType type, std::int64_t width) {
  outputs_.push_back(value_info(name, type, width));
}

// TensorProto.
std::string OnnxGraph::constant(OnnxType type, const Shape& shape, std::string_view raw) {
  Message tensor;
  for (const std::int64_t size : shape) tensor.number(1, size);
  tensor.number(2, static_cast<int>(type));
  const std::string name = fresh();
  tensor.text(8, name);
  tensor.text(9, raw);
  bytes_ += raw.size();
  constants_.push_back(std::move(tensor));
  return name;
}

std::string OnnxGraph::doubles(std::span<const double> values, const Shape& shape) {
  return constant(OnnxType::kDouble, shape, raw_bytes(std::vector(values.begin(), values.end())));
}

std::string OnnxGraph::floats(std::span<const double> values, const Shape& shape) {
  std::vector<float> narrow;
  for (const double value : values) narrow.push_back(static_cast<float>(value));
  return constant(OnnxType::kFloat, shape, raw_bytes(narrow));
}

std::string OnnxGraph::wholes(std::span<const std::int64_t> values, const Shape& shape) {
  return constant(OnnxType::kInt64, shape, raw_bytes(std::vector(values.begin(), values.end())));
}

std::string OnnxGraph::strings(const std::vector<std::string>& values) {
  Message tensor;
  tensor.number(1, static_cast<std::int64_t>(values.size()));
  tensor.number(2, static_cast<int>(OnnxType::kString));
  for (const std::string& value : values) tensor.text(6, value);
  const std::string name = fresh();
  tensor.text(8, name);
  constants_.push_back(std::move(tensor));
  return name;
}

// NodeProto.
std::string OnnxGraph::node(const std::string& operation, const std::vector<std::string>& inputs,
                            const std::vector<Attribute>& attributes, const std::string& result,
                            bool of_ml) {
  Message node;
  for (const std::string& input : inputs) node.text(1, input);
  std::string name = result.empty() ? fresh() : result;
  node.text(2, name);
  node.text(3, "make_" + name);
  node.text(4, operation);
  for (const Attribute& each : attributes) node.message(5, each.message);
  if (of_ml) node.text(7, "ai.onnx.ml");
  nodes_.push_back(std::move(node));
  return name;
}

std::string OnnxGraph::free_name(std::string name) const {
  while (taken_.contains(name)) name += '_';
  return name;
}

Message OnnxGraph::message(std::string_view name) const {
  Message graph;
  for (const Message& node : nodes_) graph.message(1, node);
  graph.text(2, name);
  for (const Message& constant : constants_) graph.message(5, constant);
  for (const Message& input : inputs_) graph.message(11, input);
  for (const Message& output : outputs_) graph.message(12, output);
  return graph;
}

}  // namespace meanwhile::exports
