// Functions of arrays by vectors of whatever the machine has: the same bits on all.
#pragma once

#include <cstddef>

namespace meanwhile::learn::belief {

// Arrays of the functions below have room for so many values behind the last one; what is left
// there is no result.
inline constexpr std::size_t kVectorPadding = 16;

// A logarithm below this stands for a hard zero.
inline constexpr double kZeroLog = -1e8;

// x[i] = exp(x[i]), and 0 where x[i] <= kZeroLog. REQUIRES: x[i] <= 709. What is between kZeroLog
// and -708 gives exp(-708).
void exp_in_place(double* x, std::size_t count);
// x[i] = log(x[i]). REQUIRES: x[i] is normal and positive.
void log_in_place(double* x, std::size_t count);

// Messages of factors of two binary variables without hard zeros, as logarithms of P(1) / P(0):
// out[i] = log((b + d e) / (1 + c e)), e = exp(in[i]), of the ratios of the table's entries to the
// one of states 0, 0. |out[i]| is at most `clip`; `grid` is the distance of the numbers that it is
// rounded to, a power of two, or 0.
void ratio_messages(const double* in, const double* b, const double* c, const double* d,
                    std::size_t count, double clip, double grid, double* out);

}  // namespace meanwhile::learn::belief
