// Sums of products over a dense table, in linear domain: what a factor sends to its variables.
//
// With variables 0 .. n - 1 and weights q_i of their states, the message to variable j is
//
//   out_j(x_j) = sum over x_i, i != j, of table(x) * product of q_i(x_i), i != j
//
// All n messages share their work: W_k sums out the variables behind k, from the last one down, and
// U_k is the product of the weights of variables 0 .. k. Then out_k = sum of U_{k-1} W_k. Both are
// geometric series of sizes, so that all messages cost about four operations an entry. Nothing is
// subtracted. Max-product takes the largest term in place of the sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::learn::belief {

enum class Marginal { kSum, kMax };

template <Marginal kHow>
inline double joined(double a, double b) {
  return kHow == Marginal::kSum ? a + b : std::max(a, b);
}

// Room for partial sums; reused. Thread safety: none.
struct ContractScratch {
  std::vector<double> suffix, prefix;
};

// out(x) = sum over y of table(x, y) weight(y), y the fastest.
template <Marginal kHow>
void contract_last(const double* table, std::size_t rows, std::span<const double> weight,
                   double* out) {
  const std::size_t card = weight.size();
  if (card == 2) {
    const double w0 = weight[0], w1 = weight[1];
    for (std::size_t r = 0; r < rows; ++r) {
      out[r] = joined<kHow>(table[2 * r] * w0, table[2 * r + 1] * w1);
    }
    return;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t y = 0; y < card; ++y) sum = joined<kHow>(sum, table[r * card + y] * weight[y]);
    out[r] = sum;
  }
}

// out(y) = sum over x of weight(x) table(x, y), y the fastest.
template <Marginal kHow>
void contract_first(const double* table, std::span<const double> weight, std::size_t card,
                    double* out) {
  std::fill(out, out + card, 0.0);
  for (std::size_t x = 0; x < weight.size(); ++x) {
    const double w = weight[x];
    const double* const row = table + x * card;
    for (std::size_t y = 0; y < card; ++y) out[y] = joined<kHow>(out[y], w * row[y]);
  }
}

// Messages of one factor. `weights[i]` are q_i, `out[i]` the messages; `only`: to this variable
// alone, or -1 for all. REQUIRES: two variables at least.
template <Marginal kHow>
void contract(const double* table, std::span<const std::span<const double>> weights, int only,
              std::span<double* const> out, ContractScratch& scratch) {
  const auto n = static_cast<int>(weights.size());
  const auto card = [&](int i) { return weights[static_cast<std::size_t>(i)].size(); };
  const auto w = [&](int i) { return weights[static_cast<std::size_t>(i)]; };
  const auto to = [&](int i) { return out[static_cast<std::size_t>(i)]; };
  if (n == 2) {
    if (only != 1) contract_last<kHow>(table, card(0), w(1), to(0));
    if (only != 0) contract_first<kHow>(table, w(0), card(1), to(1));
    return;
  }
  // Sizes of W_k, of variables 0 .. k.
  std::size_t whole = card(0), partial = card(0);
  for (int i = 1; i < n; ++i) {
    whole *= card(i);
    if (i + 1 < n) partial += whole;
  }
  const int low = only < 0 ? 0 : only, high = only < 0 ? n - 1 : only;
  // W_{n-1} is the table; W_k lies behind W_{k+1} in `suffix`.
  scratch.suffix.resize(std::max(scratch.suffix.size(), partial));
  scratch.prefix.resize(std::max(scratch.prefix.size(), partial));
  std::vector<const double*> W(static_cast<std::size_t>(n));
  W[static_cast<std::size_t>(n) - 1] = table;
  std::size_t size = whole;
  double* room = scratch.suffix.data();
  for (int k = n - 2; k >= low; --k) {
    size /= card(k + 1);
    contract_last<kHow>(W[static_cast<std::size_t>(k) + 1], size, w(k + 1), room);
    W[static_cast<std::size_t>(k)] = room;
    room += size;
  }
  // U_{k-1}, the product of weights before k.
  std::span<const double> before;
  double* next = scratch.prefix.data();
  for (int k = 0; k <= high; ++k) {
    if (k >= low) {
      if (k == 0) {
        std::copy(W[0], W[0] + card(0), to(0));
      } else {
        contract_first<kHow>(W[static_cast<std::size_t>(k)], before, card(k), to(k));
      }
    }
    if (k == high) break;
    if (k == 0) {
      before = w(0);
      continue;
    }
    double* const made = next;
    for (const double u : before) {
      for (const double q : w(k)) *next++ = u * q;
    }
    before = {made, static_cast<std::size_t>(next - made)};
  }
}

}  // namespace meanwhile::learn::belief
