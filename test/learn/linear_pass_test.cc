// A pass of SGD against a twin that does at every row, to every weight, what the pass puts off.
#include <gtest/gtest.h>

#include <cmath>

#include "meanwhile/learn/linear/sgd.h"
#include "meanwhile/learn/shuffled_rows.h"
#include "test/learn/linear_data.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using test::Storage;

// A shard of all rows, ready for a pass.
struct Bench {
  Labelled data;
  data::Dataset rows;
  data::Part part;
  Problem problem;
  std::unique_ptr<Examples> examples;
  std::vector<std::int64_t> order;  // that the pass takes
  SgdOptions options;

  Bench(Labelled from, Storage storage, std::size_t classes, Loss loss)
      : data(std::move(from)), rows(test::dataset(data, storage)) {
    part = data::whole(rows, 1, 3, 1);
    problem.loss = {loss, 0.5};
    problem.classes.resize(classes);
    for (std::size_t k = 0; k < classes; ++k) problem.classes[k] = static_cast<double>(k);
    problem.outputs = classes > 2 ? classes : 1;
    problem.softmax = loss == Loss::kLogistic && classes > 2;
    problem.cols = data.cols;
    examples = std::make_unique<Examples>(part, problem);
    options.seed = 5;
    options.round = 7;
    ShuffledRows shuffled(examples->shard(0), options.seed, options.round,
                          [](std::int64_t) { return false; });
    for (auto window = shuffled.next(); !window.empty(); window = shuffled.next()) {
      order.insert(order.end(), window.begin(), window.end());
    }
  }
  SgdResult pass(const std::vector<double>& v, const std::vector<double>& squares = {},
                 const Coordinates& coordinates = {}) const {
    return sgd_pass(problem, *examples, 0, coordinates, v, squares, options);
  }
  double x(std::int64_t row, std::size_t j) const {
    return data.x[static_cast<std::size_t>(row * data.cols) + j];
  }
  std::size_t D() const { return static_cast<std::size_t>(data.cols); }
  // The derivatives of the loss of a row by the margins.
  std::vector<double> slopes(const std::vector<double>& w, std::int64_t row) const {
    const std::size_t C = problem.outputs;
    std::vector<double> z(C);
    for (std::size_t c = 0; c < C; ++c) {
      z[c] = w[D() * C + c];
      for (std::size_t j = 0; j < D(); ++j) z[c] += x(row, j) * w[j * C + c];
    }
    problem.loss_and_slopes(z, data.y[static_cast<std::size_t>(row)]);
    const double weight = examples->weight(problem, row) / options.mean_weight;
    for (double& slope : z) slope *= weight;
    return z;
  }
  std::vector<double> start(unsigned seed) const {
    return test::uniform<double>(1, static_cast<std::int64_t>(problem.size()), seed, -0.3, 0.3);
  }
};

std::vector<double> mean_of(std::vector<double> sums, std::size_t count) {
  for (double& sum : sums) sum /= static_cast<double>(count);
  return sums;
}

// One rate for all; every weight shrinks at every row. With L1, what a weight owes is taken when a
// row touches it, and at the end: the penalty of Tsuruoka et al. is defined so.
std::vector<double> plain_pass(const Bench& b, std::vector<double> w) {
  const std::size_t C = b.problem.outputs, P = w.size();
  std::vector<double> sums(P), paid(P);
  double owed = 0, t = 0;
  const auto pay = [&](std::size_t i) {
    const double before = w[i];
    if (before > 0) w[i] = std::max(0.0, before - (owed + paid[i]));
    if (before < 0) w[i] = std::min(0.0, before + (owed - paid[i]));
    paid[i] += w[i] - before;
  };
  for (const std::int64_t row : b.order) {
    const double rate = b.options.rate / (1 + b.options.decay * t++);
    const std::vector<double> slopes = b.slopes(w, row);
    for (std::size_t j = 0; j < b.D(); ++j) {
      for (std::size_t c = 0; c < C; ++c) {
        double& at = w[j * C + c];
        at = at * (1 - rate * b.options.l2) - rate * slopes[c] * b.x(row, j);
      }
    }
    for (std::size_t c = 0; c < C; ++c) w[b.D() * C + c] -= rate * slopes[c];
    owed += rate * b.options.l1;
    for (std::size_t i = 0; i < b.D() * C; ++i) {
      if (b.options.l1 > 0 && b.x(row, i / C) != 0) pay(i);
    }
    for (std::size_t i = 0; i < P; ++i) sums[i] += w[i];
  }
  if (b.options.average) return mean_of(sums, b.order.size());
  for (std::size_t i = 0; i < b.D() * C && b.options.l1 > 0; ++i) pay(i);
  return w;
}

double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  return test::distance(a, b) / largest;
}

struct Case {
  Loss loss;
  std::size_t classes;
};
constexpr Case kCases[] = {{Loss::kHinge, 2},    {Loss::kSquaredHinge, 2}, {Loss::kLogistic, 2},
                           {Loss::kLogistic, 4}, {Loss::kHinge, 3},        {Loss::kSquared, 0},
                           {Loss::kHuber, 0}};

TEST(LinearPass, LazyL2IsTheDenseUpdate) {
  for (const auto& [loss, classes] : kCases) {
    for (const bool average : {false, true}) {
      Bench b(test::rows_for(classes, 700, 12, 1, 0.3), Storage::kSparse, classes, loss);
      b.options.rate = 0.05, b.options.decay = 1e-3, b.options.l2 = 0.02;
      b.options.average = average;
      const std::vector<double> v = b.start(2);
      EXPECT_LT(relative_error(b.pass(v).v, plain_pass(b, v)), 1e-12)
          << static_cast<int>(loss) << ' ' << classes << ' ' << average;
    }
  }
}

// (1 - 0.2)^5000 underflows any scale: it has to be folded into the weights, again and again.
TEST(LinearPass, LazyL2IsTheDenseUpdateWhereTheScaleWasFolded) {
  for (const double l1 : {0.0, 1e-3}) {
    for (const bool average : {false, true}) {
      Bench b(test::rows_for(2, 5000, 8, 3, 0.2), Storage::kSparse, 2, Loss::kLogistic);
      b.options.rate = 0.4, b.options.l2 = 0.5, b.options.l1 = l1;
      b.options.average = average;
      const std::vector<double> v = b.start(4);
      const SgdResult pass = b.pass(v);
      EXPECT_LT(relative_error(pass.v, plain_pass(b, v)), 1e-12) << l1 << ' ' << average;
      EXPECT_TRUE(pass.shrink == 0 || average) << "(1 - 0.2)^5000 is no double";
    }
  }
}

TEST(LinearPass, AWeightThatNoRowTouchesShrinksByWhatIsReported) {
  for (const bool average : {false, true}) {
    Labelled data = test::rows_for(2, 300, 4, 5);
    for (std::size_t i = 0; i < data.rows(); ++i) data.x[i * 4 + 2] = 0;
    Bench b(data, Storage::kSparse, 2, Loss::kHinge);
    b.options.l2 = 0.01, b.options.average = average;
    const std::vector<double> v = b.start(6);
    const SgdResult pass = b.pass(v);
    EXPECT_EQ(pass.v[2], pass.shrink * v[2]);
    EXPECT_NEAR(pass.v[2], plain_pass(b, v)[2], 1e-14);
    EXPECT_LT(pass.shrink, 0.9);
  }
}

TEST(LinearPass, CumulativeL1IsThatOfADenseTwin) {
  for (const auto& [loss, classes] : kCases) {
    for (const bool average : {false, true}) {
      Bench b(test::rows_for(classes, 600, 15, 7, 0.2), Storage::kSparse, classes, loss);
      b.options.rate = 0.05, b.options.l1 = 0.01, b.options.l2 = 0.01;
      b.options.average = average;
      const std::vector<double> v = b.start(8), w = b.pass(v).v, expected = plain_pass(b, v);
      EXPECT_LT(relative_error(w, expected), 1e-12) << static_cast<int>(loss) << ' ' << average;
      for (std::size_t i = 0; i < w.size(); ++i) EXPECT_EQ(w[i] == 0, expected[i] == 0);
    }
  }
}

// Rates that fall with the squared slopes; penalties are paid on touch for all rows since, at the
// rate of then. Sums of squares are kept in float.
std::vector<double> adaptive_twin(const Bench& b, std::vector<double> w,
                                  const std::vector<double>& from) {
  const std::size_t C = b.problem.outputs, P = w.size();
  std::vector<float> squares(from.begin(), from.end());
  std::vector<double> last(P), sums(P);
  double t = 0;
  const auto rate_of = [&](std::size_t i) {
    return b.options.rate / std::sqrt(static_cast<double>(squares[i]) + 1e-12);
  };
  const auto pay = [&](std::size_t i) {
    const double rate = rate_of(i) * (t - last[i]), size = std::abs(w[i]) - rate * b.options.l1;
    if (squares[i] > 0 && t > last[i]) {
      w[i] = size > 0 ? std::copysign(size, w[i]) / (1 + rate * b.options.l2) : 0;
    }
    last[i] = t;
  };
  for (const std::int64_t row : b.order) {
    ++t;
    for (std::size_t i = 0; i < b.D() * C; ++i) {
      if (b.x(row, i / C) != 0) pay(i);
    }
    const std::vector<double> slopes = b.slopes(w, row);
    for (std::size_t i = 0; i < P; ++i) {
      const double slope = slopes[i % C] * (i < b.D() * C ? b.x(row, i / C) : 1);
      if (slope != 0) {
        squares[i] += static_cast<float>(slope * slope);
        w[i] -= rate_of(i) * slope;
      }
      sums[i] += w[i];
    }
  }
  if (b.options.average) return mean_of(sums, b.order.size());
  for (std::size_t i = 0; i < b.D() * C; ++i) {
    if (last[i] > 0) pay(i);
  }
  return w;
}

TEST(LinearPass, AdaptiveRatesAreThoseOfADenseTwin) {
  for (const auto& [loss, classes] : kCases) {
    for (const bool average : {false, true}) {
      Bench b(test::rows_for(classes, 400, 10, 9, 0.3), Storage::kSparse, classes, loss);
      b.options.rate = 0.2, b.options.l1 = 0.002, b.options.l2 = 0.01;
      b.options.adaptive = true;
      b.options.average = average;
      const std::vector<double> v = b.start(10), squares(v.size(), 0.5);
      const std::vector<double> expected = adaptive_twin(b, v, squares);
      EXPECT_LT(relative_error(b.pass(v, squares).v, expected), 1e-12)
          << static_cast<int>(loss) << ' ' << classes << ' ' << average;
    }
  }
}

TEST(LinearPass, TheMeanOfOneRowIsWhatItLeft) {
  for (const Storage storage : {Storage::kSparse, Storage::kDense}) {
    for (const bool adaptive : {false, true}) {
      Bench b({{2, -1}, {1}, {}, 2}, storage, 2, Loss::kHinge);
      b.options.adaptive = adaptive;
      const std::vector<double> v(3), squares(3, 1.0);
      const std::vector<double> last = b.pass(v, squares).v;
      b.options.average = true;
      EXPECT_EQ(b.pass(v, squares).v, last) << adaptive;
      EXPECT_GT(last[0], 0);
    }
  }
}

TEST(LinearPass, LossesAreThoseBeforeEachRowWasLearned) {
  Bench b(test::rows_for(2, 500, 6, 11), Storage::kSparse, 2, Loss::kLogistic);
  b.options.rate = 1e-9;  // so that the weights stay what they were
  const std::vector<double> v(7);
  const SgdResult pass = b.pass(v);
  EXPECT_NEAR(pass.loss, 500 * std::log(2.0), 1e-4);
  EXPECT_EQ(pass.weight, 500);
  EXPECT_EQ(pass.late_weight, 250);
  b.options.rate = 0.1;
  EXPECT_LT(b.pass(v).late_loss, 0.9 * 250 * std::log(2.0));
}

TEST(LinearPass, EveryRowComesOnceAndRoundsDifferInOrder) {
  Bench b(test::rows_for(2, 6000, 1, 12), Storage::kSparse, 2, Loss::kHinge);
  std::vector<std::int64_t> sorted = b.order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], static_cast<int>(i));
  EXPECT_NE(sorted, b.order);
  ShuffledRows other(b.examples->shard(0), b.options.seed, b.options.round + 1,
                     [](std::int64_t) { return false; });
  const auto window = other.next();
  EXPECT_FALSE(std::equal(window.begin(), window.end(), b.order.begin()));
}

}  // namespace
}  // namespace meanwhile::learn::linear
