#include "meanwhile/learn/factorize/normal.h"

#include <algorithm>
#include <cmath>

namespace meanwhile::learn::factorize {

void NormalScratch::prepare(std::size_t rows, std::size_t width) {
  if (products.size() < rows + 4) products.resize(rows + 4);
  r.assign(width, 0);
  p.resize(width);
  q.resize(width);
  if (s.size() < rows + 4) s.resize(rows + 4);
}

void solve_by_steps(const NormalEquations& e, std::int64_t steps, NormalScratch& scratch,
                    float* w) {
  const std::size_t width = e.rows.width;
  scratch.prepare(e.rows.count, width);
  std::vector<float>&r = scratch.r, &p = scratch.p, &q = scratch.q;
  // q = A v - what project() adds, which is -(A v) but for G and the ridge.
  const auto add_rest = [&](const float* v, float* to) {
    if (e.gram != nullptr) add_product(e.gram, width, v, to);
    for (std::size_t k = 0; k < width; ++k) to[k] += e.ridge * v[k];
  };
  std::fill(q.begin(), q.end(), 0.0F);
  add_rest(w, q.data());
  project(e.rows, w, e.a, e.b, scratch.products.data(), r.data());
  for (std::size_t k = 0; k < width; ++k) r[k] -= q[k];
  std::copy(r.begin(), r.end(), p.begin());
  float left = dot(r.data(), r.data(), width);
  for (std::int64_t step = 0; step < steps && left > kNothingLeft; ++step) {
    std::fill(q.begin(), q.end(), 0.0F);
    project(e.rows, p.data(), e.a, nullptr, scratch.s.data(), q.data());
    for (std::size_t k = 0; k < width; ++k) q[k] = -q[k];
    add_rest(p.data(), q.data());
    const float curve = dot(p.data(), q.data(), width);
    if (!(curve > 0)) break;
    const float length = left / curve;
    for (std::size_t k = 0; k < width; ++k) {
      w[k] += length * p[k];
      r[k] -= length * q[k];
    }
    const float now = dot(r.data(), r.data(), width);
    const float keep = now / left;
    for (std::size_t k = 0; k < width; ++k) p[k] = r[k] + keep * p[k];
    left = now;
  }
}

void solve_exactly(const NormalEquations& e, std::size_t numbers, NormalScratch& scratch,
                   float* w) {
  const std::size_t width = e.rows.width;
  scratch.prepare(e.rows.count, width);
  multiply(e.rows, w, scratch.products.data());
  scratch.matrix.assign(numbers * (numbers + 1) / 2, 0);
  scratch.right.assign(numbers, 0);
  for (std::size_t j = 0; j < e.rows.count; ++j) {
    const float* f = e.rows.table + static_cast<std::size_t>(e.rows.index[j]) * width;
    const auto a = static_cast<double>(e.a[j]), b = static_cast<double>(e.b[j]);
    double* row = scratch.matrix.data();
    for (std::size_t i = 0; i < numbers; row += ++i) {
      const double by = a * static_cast<double>(f[i]);
      for (std::size_t k = 0; k <= i; ++k) row[k] += by * static_cast<double>(f[k]);
      scratch.right[i] += b * static_cast<double>(f[i]);
    }
  }
  double* row = scratch.matrix.data();
  for (std::size_t i = 0; i < numbers; row += ++i) {
    for (std::size_t k = 0; e.gram != nullptr && k <= i; ++k) {
      row[k] += static_cast<double>(e.gram[i * width + k]);
    }
    row[i] += static_cast<double>(e.ridge);
  }
  solve_packed(scratch.matrix.data(), scratch.right.data(), numbers, w);
}

void solve_packed(double* matrix, const double* right, std::size_t numbers, float* w) {
  const auto row = [&](std::size_t i) { return matrix + i * (i + 1) / 2; };
  double largest = 0;
  for (std::size_t i = 0; i < numbers; ++i) largest = std::max(largest, row(i)[i]);
  const double least = 1e-12 * largest;
  std::vector<double> x(right, right + numbers);
  for (std::size_t i = 0; i < numbers; ++i) {
    double* const to = row(i);
    for (std::size_t k = 0; k <= i; ++k) {
      double sum = to[k];
      const double* const other = row(k);
      for (std::size_t m = 0; m < k; ++m) sum -= to[m] * other[m];
      if (k < i) {
        to[k] = other[k] > 0 ? sum / other[k] : 0;
      } else {
        to[i] = sum > least ? std::sqrt(sum) : 0;  // 0: this number is not determined
      }
    }
    for (std::size_t k = 0; k < i; ++k) x[i] -= to[k] * x[k];
    x[i] = to[i] > 0 ? x[i] / to[i] : 0;
  }
  for (std::size_t i = numbers; i-- > 0;) {
    for (std::size_t k = i + 1; k < numbers; ++k) x[i] -= row(k)[i] * x[k];
    x[i] = row(i)[i] > 0 ? x[i] / row(i)[i] : 0;
    w[i] = static_cast<float>(x[i]);
  }
}

}  // namespace meanwhile::learn::factorize
