// The ids that files give to the vertices of a graph: numbers from 0 on, other numbers, or words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::graph {

// Numbers ascend with the number of the vertex; words do where they were sorted.
class VertexIds {
 public:
  // Ids are 0 to vertices - 1.
  explicit VertexIds(std::int64_t vertices = 0) : vertices_(vertices) {}
  static VertexIds of_numbers(std::vector<std::int64_t> ids);
  static VertexIds of_words(const std::vector<std::string>& words);

  std::int64_t vertices() const { return vertices_; }
  std::string text(std::int64_t vertex) const;
  // The vertex of each id, or -1.
  std::vector<std::int64_t> find(const std::vector<std::string>& ids) const;

  // Tensors of a state, "ids" or "words", which borrow from this object; none where ids are 0 to
  // vertices - 1.
  void put(State& state) const;
  // THROWS Error(kInput) when the tensors do not fit `vertices`.
  static VertexIds of_file(const data::SafetensorsFile& file, std::int64_t vertices);

 private:
  std::string_view word(std::int64_t vertex) const;
  std::int64_t find_number(std::string_view id) const;
  void find_words();

  std::int64_t vertices_ = 0;
  std::vector<std::int64_t> numbers_;
  std::string words_;                  // each with a line end behind it
  std::vector<std::size_t> word_end_;  // of each vertex, in words_
};

}  // namespace meanwhile::learn::graph
