// How good predictions are.
#pragma once

#include <span>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/learn/linear/model.h"

namespace meanwhile::learn::linear {

// Labels as numbers of the model's classes; as they are, for regression. Classes are matched by
// name where labels are words. THROWS Error(kInput) naming the row (from 0) and a label that is no
// class of the model.
std::vector<double> class_numbers(const Model& model, const data::Dataset& data);

// `margins`: rows x outputs; `labels` as class_numbers gives them; `weights` of rows, or empty.
// doc/measures.md defines every key. Threads change no bit.
Json measure(const Model& model, std::span<const double> margins, std::span<const double> labels,
             std::span<const double> weights, base::Threads threads);

}  // namespace meanwhile::learn::linear
