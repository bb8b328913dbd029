// The result of belief propagation, as a model that is its own answer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/answer_model.h"

namespace meanwhile::learn::belief {

// Forms of the answer:
//   csv  variable,state,probability: a line for each state of each variable
//   MAR  UAI's marginals: "MAR", the number of variables, and for each its states and probabilities
//   MAP  UAI's decoded state: "MAP", the number of variables, and the likeliest state of each, the
//        first one of equals
class BeliefModel final : public AnswerModel {
 public:
  // THROWS Error(kInput) when the file holds no model of belief propagation.
  explicit BeliefModel(const data::SafetensorsFile& file);

  std::vector<std::string> answer_forms() const override { return {"csv", "MAR", "MAP"}; }
  void write_answer(const std::string& form,
                    const std::function<void(std::string_view)>& write) const override;
  Json describe() const override;

  std::int64_t variables() const { return static_cast<std::int64_t>(cards_.size()); }
  // The probabilities of the states of a variable.
  std::span<const double> marginal(std::int64_t variable) const;
  std::int64_t likeliest(std::int64_t variable) const;

 private:
  std::vector<std::int32_t> cards_;
  std::vector<std::size_t> start_;
  std::vector<double> marginals_;
  Json about_, parameters_;
};

}  // namespace meanwhile::learn::belief
