#include "meanwhile/learn/graph/vertex_model.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::graph {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::size_t kPieceBytes = 1 << 20;

}  // namespace

VertexModel::VertexModel(const data::SafetensorsFile& file, VertexAnswer answer)
    : AnswerModel(answer.learner), answer_(std::move(answer)) {
  const std::string what = "a model of " + answer_.learner;
  const data::Tensor& tensor = file.tensor("values");
  if (tensor.shape.size() != 2 || tensor.shape[1] < 1) {
    throw Error(ErrorKind::kInput, "is not {}: its values are no table", what);
  }
  const auto values = tensor.as<double>();
  values_.assign(values.begin(), values.end());
  width_ = static_cast<std::size_t>(tensor.shape[1]);
  ids_ = VertexIds::of_file(file, tensor.shape[0]);
  about_ = metadata_json(file, "about", what);
}

void VertexModel::write_answer(const std::string& form,
                               const std::function<void(std::string_view)>& write) const {
  if (form != "csv") {
    throw Error(ErrorKind::kUsage, "form '{}' is unknown; a {} model is written as csv", form,
                answer_.learner);
  }
  std::string text = "id," + answer_.header + "\n";
  for (std::int64_t v = 0; v < ids_.vertices(); ++v) {
    text += csv_field(ids_.text(v)) + ",";
    text += answer_.text(ids_, values_.data() + static_cast<std::size_t>(v) * width_) + "\n";
    if (text.size() < kPieceBytes) continue;
    write(text);
    text.clear();
  }
  write(text);
}

Json VertexModel::describe() const {
  Json json = {{"vertices", ids_.vertices()}};
  for (const char* name : {"converged", "residual"}) {
    if (about_.contains(name)) json[name] = about_[name];
  }
  json.update(answer_.describe(ids_, values_));
  return json;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

}  // namespace meanwhile::learn::graph
