// exp, log and digamma of arrays, by vectors of whatever the machine has: the same bits on all.
// Accuracy is that of the type: special-inl.h has the table.
#pragma once

#include <span>

namespace meanwhile::learn::lda {

// out[i] = f(x[i]); both of the same size, and may be the same.
void vector_exp(std::span<const float> x, std::span<float> out);
void vector_exp(std::span<const double> x, std::span<double> out);
// x normal and positive.
void vector_log(std::span<const float> x, std::span<float> out);
void vector_log(std::span<const double> x, std::span<double> out);
// x > 0.
void vector_digamma(std::span<const float> x, std::span<float> out);
void vector_digamma(std::span<const double> x, std::span<double> out);
void vector_exp_digamma(std::span<const float> x, std::span<float> out);
void vector_exp_digamma(std::span<const double> x, std::span<double> out);

}  // namespace meanwhile::learn::lda
