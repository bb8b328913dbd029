// The area under the ROC curve.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/base/threads.h"

namespace meanwhile::measures {

// The probability that a positive row has the larger score than a negative one, ties counting half;
// NaN when there is no positive or no negative row, or a score is NaN. `positive[i]` is 0 or 1.
// `weights` of rows, or empty.
double auc(std::span<const double> scores, std::span<const double> positive,
           std::span<const double> weights);

// The same of each class against the rest. `scores`: rows x classes; `labels`: numbers of classes.
// Threads change no bit.
std::vector<double> auc_of_classes(std::span<const double> scores, std::size_t classes,
                                   std::span<const double> labels, std::span<const double> weights,
                                   base::Threads threads);

}  // namespace meanwhile::measures
