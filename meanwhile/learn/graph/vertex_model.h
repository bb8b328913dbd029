// The model of a learner of graphs: something for each vertex, by its id.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/learn/answer_model.h"
#include "meanwhile/learn/graph/vertex_ids.h"

namespace meanwhile::learn::graph {

// How a learner's values are shown.
struct VertexAnswer {
  std::string learner;
  std::string header;  // of the CSV form, after "id,"
  // The text of a vertex behind its id and a comma. `values`: those of the vertex.
  std::function<std::string(const VertexIds& ids, const double* values)> text;
  // Describes all values; `width` for each vertex.
  std::function<Json(const VertexIds& ids, const std::vector<double>& values)> describe;
};

class VertexModel final : public AnswerModel {
 public:
  // THROWS Error(kInput) when the file holds no model of the learner. `answer` may be made from
  // what the file says of the model.
  VertexModel(const data::SafetensorsFile& file, VertexAnswer answer);

  std::vector<std::string> answer_forms() const override { return {"csv"}; }
  void write_answer(const std::string& form,
                    const std::function<void(std::string_view)>& write) const override;
  Json describe() const override;

 private:
  VertexAnswer answer_;
  std::vector<double> values_;
  std::size_t width_ = 1;
  VertexIds ids_;
  Json about_;
};

// A field of a CSV file: in quotes where it needs them.
std::string csv_field(const std::string& text);

}  // namespace meanwhile::learn::graph
