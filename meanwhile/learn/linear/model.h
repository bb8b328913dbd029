// A linear model that was learned: margins, predictions, probabilities, and how good they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/learn/linear/problem.h"

namespace meanwhile::learn::linear {

// For errors: "not a linear model: ...".
inline constexpr const char* kWhat = "a linear model";

struct Model {
  Kind kind = Kind::kSvm;
  LossFunction loss;
  bool softmax = false;
  std::int64_t cols = 0;
  std::size_t outputs = 1;
  std::vector<double> w;  // as in Problem: D x C weights, then C intercepts
  std::vector<double> classes;
  std::vector<std::string> class_names, feature_names;
  std::int64_t first_column = 0;  // the number that the files give to it: libsvm counts from 1
  Json parameters;

  Problem problem() const;
  std::string class_label(std::size_t k) const;    // its name, or its value
  std::string feature_name(std::int64_t j) const;  // its name, or "column J"
};

// THROWS Error(kInput) when the file holds no linear model.
Model load_model(const data::SafetensorsFile& file);

// Margins of rows [begin, end), (end - begin) x outputs, row-major. Columns that the model has not
// seen count nothing. `threads`: any; the values do not depend on it.
void margins(const Model& model, const data::Dataset& data, std::int64_t begin, std::int64_t end,
             base::Threads threads, std::span<double> values);

// The label of each row: a class (as its value), or the predicted number.
std::vector<double> predict(const Model& model, const data::Dataset& data, base::Threads threads);

// Margins of a row made into probabilities. REQUIRES: kind is kLogistic; `margins` has `outputs`
// numbers, `p` one for each class.
void probabilities(const Model& model, std::span<const double> margins, std::span<double> p);

// Mean loss and objective; accuracy, AUC (two classes), log-loss (logistic); or RMSE, MAE, R^2.
// THROWS Error(kInput) when the data has no labels, or one that is no class of the model.
Json evaluate(const Model& model, const data::Dataset& data, base::Threads threads);

}  // namespace meanwhile::learn::linear
