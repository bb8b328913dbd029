// See lbfgs.h for what this is. Invariant: point_ = x + t d, moved back to the orthant of x where
// L1 asks for it; x is the best point evaluated so far.
#include "meanwhile/learn/linear/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "meanwhile/learn/linear/chunks.h"

namespace meanwhile::learn::linear {

namespace {

constexpr double kSufficient = 1e-4;  // Armijo's: of the decrease that the slope promises
constexpr int kMostTries = 30;

template <class A, class B>
double dot(const A* a, const B* b, std::size_t size) {
  constexpr std::size_t kLanes = 8;
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      sums[k] += static_cast<double>(a[i + k]) * static_cast<double>(b[i + k]);
    }
  }
  for (; i < size; ++i) sums[i % kLanes] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

Lbfgs::Lbfgs(std::vector<double> x, std::span<const double> scale, std::span<const double> l1,
             std::size_t history)
    : scale_(scale), l1_(l1), history_(history), point_(x) {
  memory_.x = std::move(x);
}

Lbfgs::Lbfgs(Memory memory, std::span<const double> scale, std::span<const double> l1,
             std::size_t history, base::ThreadPool& pool)
    : memory_(std::move(memory)), scale_(scale), l1_(l1), history_(history), point_(memory_.x) {
  if (memory_.started) step(pool);
}

double Lbfgs::penalty(std::span<const double> x, base::ThreadPool& pool) const {
  return sum(pool, l1_.size(), [&](std::size_t i) { return l1_[i] * std::abs(x[i]); });
}

double Lbfgs::pseudo_gradient(std::size_t i) const {
  const double g = memory_.g[i];
  if (l1_.empty() || l1_[i] == 0) return g;
  const double x = memory_.x[i], l1 = l1_[i];
  if (x > 0) return g + l1;
  if (x < 0) return g - l1;
  if (g + l1 < 0) return g + l1;
  return g - l1 > 0 ? g - l1 : 0;
}

double Lbfgs::orthant(std::size_t i) const {
  const double x = memory_.x[i];
  if (x != 0) return x > 0 ? 1 : -1;
  const double slope = pseudo_gradient(i);
  return slope == 0 ? 0 : (slope > 0 ? -1 : 1);
}

void Lbfgs::step(base::ThreadPool& pool) {
  const Memory& m = memory_;
  point_.resize(m.x.size());
  chunks(pool, m.x.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      point_[i] = m.x[i] + m.t * m.d[i];
      if (!l1_.empty() && l1_[i] > 0 && point_[i] * orthant(i) <= 0) point_[i] = 0;
    }
  });
}

void Lbfgs::remember(std::span<const double> g, base::ThreadPool& pool) {
  Pair pair;
  if (memory_.pairs.size() >= history_) {  // its memory is used again
    pair = std::move(memory_.pairs.front());
    memory_.pairs.pop_front();
    known_ -= known_ > 0;
    for (auto* products : {&sy_, &yy_}) {
      if (products->empty()) continue;
      std::rotate(products->begin(), products->begin() + 1, products->end());
      for (auto& row : *products) std::rotate(row.begin(), row.begin() + 1, row.end());
    }
  }
  const std::size_t size = point_.size();
  pair.s.resize(size);
  pair.y.resize(size);
  std::vector<double> partial(2 * chunk_count(size));
  chunks(pool, size, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    double sy = 0, yy = 0;
    for (std::size_t i = begin; i < end; ++i) {
      pair.s[i] = static_cast<float>(point_[i] - memory_.x[i]);
      pair.y[i] = static_cast<float>(g[i] - memory_.g[i]);
      const double y = static_cast<double>(pair.y[i]);
      sy += static_cast<double>(pair.s[i]) * y;
      yy += scale_[i] * y * y;
    }
    partial[2 * chunk] = sy;
    partial[2 * chunk + 1] = yy;
  });
  const std::vector<double> products = total(partial, 2);
  // A pair without curvature would make the next direction point upwards.
  if (products[0] > 1e-10 * products[1]) memory_.pairs.push_back(std::move(pair));
}

// Inner products of everything with the newest pair, which are all that is missing: those of older
// pairs among each other are known. The same bits whether a product was made when its pair was new
// or after a restart.
void Lbfgs::multiply(std::size_t newest, base::ThreadPool& pool) {
  const auto& pairs = memory_.pairs;
  const std::size_t size = memory_.x.size(), products = 3 * (newest + 1);
  std::vector<double> partial(chunk_count(size) * products);
  const float *s = pairs[newest].s.data(), *y = pairs[newest].y.data();
  chunks(pool, size, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    double* to = partial.data() + chunk * products;
    const std::size_t length = end - begin;
    double scaled[kChunk];
    for (std::size_t i = 0; i < length; ++i) {
      scaled[i] = scale_[begin + i] * static_cast<double>(y[begin + i]);
    }
    for (std::size_t a = 0; a <= newest; ++a) {
      const float *sa = pairs[a].s.data() + begin, *ya = pairs[a].y.data() + begin;
      *to++ = dot(sa, y + begin, length);
      *to++ = dot(s + begin, ya, length);
      *to++ = dot(ya, scaled, length);
    }
  });
  const std::vector<double> sums = total(partial, products);
  for (std::size_t a = 0; a <= newest; ++a) {
    sy_[a][newest] = sums[3 * a];
    sy_[newest][a] = sums[3 * a + 1];
    yy_[a][newest] = yy_[newest][a] = sums[3 * a + 2];
  }
}

// d = -H g, where H is the inverse Hessian that the pairs tell of, scale_ where they say nothing.
void Lbfgs::choose_direction(base::ThreadPool& pool) {
  std::vector<double>& d = memory_.d;
  const auto& pairs = memory_.pairs;
  const std::size_t size = memory_.x.size(), m = pairs.size();
  sy_.resize(history_, std::vector<double>(history_));
  yy_.resize(history_, std::vector<double>(history_));
  for (; known_ < m; ++known_) multiply(known_, pool);

  slope_.resize(size);
  std::vector<double>& slope = slope_;
  std::vector<double> partial(chunk_count(size) * 2 * m);
  chunks(pool, size, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    double* to = partial.data() + chunk * 2 * m;
    const std::size_t length = end - begin;
    double scaled[kChunk];
    for (std::size_t i = 0; i < length; ++i) {
      slope[begin + i] = pseudo_gradient(begin + i);
      scaled[i] = scale_[begin + i] * slope[begin + i];
    }
    for (std::size_t a = 0; a < m; ++a) {
      to[a] = dot(pairs[a].s.data() + begin, slope.data() + begin, length);
      to[m + a] = dot(pairs[a].y.data() + begin, scaled, length);
    }
  });
  const std::vector<double> sums = total(partial, 2 * m);
  const double *sg = sums.data(), *yv = sg + m;

  // The two loops: q = g - sum of alpha y, then r = gamma scale q + sum of (alpha - beta) s.
  std::vector<double> alpha(m), beta(m);
  for (std::size_t a = m; a-- > 0;) {
    double sq = sg[a];
    for (std::size_t b = a + 1; b < m; ++b) sq -= alpha[b] * sy_[a][b];
    alpha[a] = sq / sy_[a][a];
  }
  const double gamma = m == 0 ? 1 : sy_[m - 1][m - 1] / yy_[m - 1][m - 1];
  for (std::size_t a = 0; a < m; ++a) {
    double yr = gamma * yv[a];
    for (std::size_t b = 0; b < m; ++b) yr -= gamma * alpha[b] * yy_[a][b];
    for (std::size_t b = 0; b < a; ++b) yr += (alpha[b] - beta[b]) * sy_[b][a];
    beta[a] = yr / sy_[a][a];
  }
  d.resize(size);
  chunks(pool, size, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) d[i] = slope[i];
    for (std::size_t a = 0; a < m; ++a) {
      const float* y = pairs[a].y.data();
      for (std::size_t i = begin; i < end; ++i) d[i] -= alpha[a] * static_cast<double>(y[i]);
    }
    for (std::size_t i = begin; i < end; ++i) d[i] *= -gamma * scale_[i];
    for (std::size_t a = 0; a < m; ++a) {
      const float* s = pairs[a].s.data();
      for (std::size_t i = begin; i < end; ++i) {
        d[i] -= (alpha[a] - beta[a]) * static_cast<double>(s[i]);
      }
    }
    if (l1_.empty()) return;
    for (std::size_t i = begin; i < end; ++i) {  // no coordinate goes up its own slope
      if (l1_[i] > 0 && d[i] * slope[i] >= 0) d[i] = 0;
    }
  });
}

// Whether the guess leads down; it is the direction then.
bool Lbfgs::takes_guess(base::ThreadPool& pool) {
  if (memory_.guess.empty()) return false;
  memory_.d = std::exchange(memory_.guess, {});
  std::vector<double>& d = memory_.d;
  const double slope = sum(pool, d.size(), [&](std::size_t i) {
    const double rise = pseudo_gradient(i) * d[i];
    if (!l1_.empty() && l1_[i] > 0 && rise >= 0) d[i] = 0;
    return rise;
  });
  return slope < 0;
}

void Lbfgs::begin_again() {
  memory_.started = false;
  memory_.tries = 0;
  point_ = memory_.x;
}

Lbfgs::Verdict Lbfgs::tell(double f, std::vector<double> g, base::ThreadPool& pool) {
  const double value = f + penalty(point_, pool);
  if (memory_.started) {
    // Along the step really taken: OWL-QN bends it.
    const double promised = sum(pool, point_.size(), [&](std::size_t i) {
      return pseudo_gradient(i) * (point_[i] - memory_.x[i]);
    });
    if (!(value <= memory_.f + kSufficient * promised)) {
      // The promised decrease is too little to be seen among the digits of the value.
      const bool unseen = -promised <= 1e-14 * std::abs(memory_.f);
      if (++memory_.tries >= kMostTries || unseen) {
        point_ = memory_.x;
        return Verdict::kStuck;
      }
      // The minimum of the parabola through what is known, within reason.
      const double rise = value - memory_.f - promised;
      const double guess = rise > 0 ? -promised / (2 * rise) : 0.5;
      memory_.t *= std::isfinite(guess) ? std::clamp(guess, 0.1, 0.5) : 0.1;
      step(pool);
      return Verdict::kShorter;
    }
    remember(g, pool);
  }
  std::swap(memory_.x, point_);
  memory_.g = std::move(g);
  memory_.f = value;
  memory_.started = true;
  memory_.t = 1;
  memory_.tries = 0;
  if (!takes_guess(pool)) choose_direction(pool);
  step(pool);
  return Verdict::kBetter;
}

}  // namespace meanwhile::learn::linear
