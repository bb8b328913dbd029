// A graph of ONNX that is being written: nodes, constants, inputs and outputs, by name.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meanwhile/exports/protobuf.h"

namespace meanwhile::exports {

enum class OnnxType : std::uint8_t { kFloat = 1, kInt64 = 7, kString = 8, kDouble = 11 };

class OnnxGraph {
 public:
  // `taken`: names of inputs that are to come; no other value gets one of them.
  explicit OnnxGraph(std::set<std::string> taken) : taken_(std::move(taken)) {}

  using Shape = std::vector<std::int64_t>;
  // An attribute of a node: its name, and a message AttributeProto made by one of these.
  struct Attribute {
    Message message;
  };
  static Attribute whole(std::string_view name, std::int64_t value);
  static Attribute wholes(std::string_view name, const std::vector<std::int64_t>& values);
  static Attribute texts(std::string_view name, const std::vector<std::string>& values);

  // `width` below 0: one dimension, the rows; else [rows, width].
  void input(const std::string& name, OnnxType type, std::int64_t width);
  void output(const std::string& name, OnnxType type, std::int64_t width);
  // Constants; each returns its name.
  std::string doubles(std::span<const double> values, const Shape& shape);
  std::string floats(std::span<const double> values, const Shape& shape);
  std::string wholes(std::span<const std::int64_t> values, const Shape& shape);
  std::string strings(const std::vector<std::string>& values);
  // The value that `operation` makes of others; its name is `result`, or a new one.
  std::string node(const std::string& operation, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {}, const std::string& result = {},
                   bool of_ml = false);

  // The name, or one like it that is not taken.
  std::string free_name(std::string name) const;

  // The graph as a message GraphProto.
  Message message(std::string_view name) const;
  std::size_t bytes() const { return bytes_; }

 private:
  std::string fresh() { return free_name("v" + std::to_string(++values_)); }
  std::string constant(OnnxType type, const Shape& shape, std::string_view raw);

  std::vector<Message> nodes_, constants_, inputs_, outputs_;
  std::set<std::string> taken_;
  std::size_t bytes_ = 0;  // of constants
  int values_ = 0;
};

}  // namespace meanwhile::exports
