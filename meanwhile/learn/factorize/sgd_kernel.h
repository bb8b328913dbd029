// The steps of SGD on ratings, one after another.
//
//   e   = value - user bias - item bias - p . q
//   h_u = rate / sqrt(squares of the user),  h_i likewise          of the steps before this one
//   p  <- (1 - h_u l2) p + h_u e q,   q <- (1 - h_i l2) q + h_i e p      with the p of before
//   bias of both <- (1 - h bias_l2) bias + h e
//   squares of both += share e^2
//
// A rating's step reads what the one before it wrote: the result is that of one sequential order.
// Dot products are summed in 16 lanes that are folded in halves, without fused multiply-add: the
// same bits on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace meanwhile::learn::factorize {

inline constexpr std::size_t kSgdLanes = 16;

// Numbers in memory of a row of `n_factors`: whole lanes, zeros behind the factors.
inline constexpr std::size_t sgd_width(std::size_t n_factors) {
  return (n_factors + kSgdLanes - 1) / kSgdLanes * kSgdLanes;
}

// A rating in a tile: user and item count from the first of the tile.
struct TileRating {
  std::uint16_t user = 0, item = 0;
  float value = 0;
};

// Numbers of a row beside its factors.
struct SgdRow {
  float bias = 0;
  float squares = 1;
};

// Rows of users or items, from the first of a tile on. Borrowed.
struct SgdRows {
  float* factors = nullptr;  // sgd_width() numbers each
  SgdRow* rows = nullptr;
};

struct SgdRule {
  std::size_t width = 0;  // sgd_width(n_factors)
  float rate = 0;
  float l2 = 0, bias_l2 = 0;
  float share = 0;     // of a squared error that goes to the squares of a row: 1 / n_factors
  bool biases = true;  // if not, there are none
};

// Takes the steps of `ratings` in order. Returns the sum of e^2, added in order.
// REQUIRES: users and items do not overlap; a user or item of a rating is one of the rows.
double sgd_steps(std::span<const TileRating> ratings, const SgdRule& rule, SgdRows users,
                 SgdRows items);

// The sum of e^2 alone; nothing is changed.
double sgd_errors(std::span<const TileRating> ratings, const SgdRule& rule, SgdRows users,
                  SgdRows items);

}  // namespace meanwhile::learn::factorize
