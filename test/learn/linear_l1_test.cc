// Zeros of the L1 penalty: exact ones, with every solver, kind of row and way to send.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/learn/linear_serial.h"

namespace meanwhile::learn::linear {
namespace {

using test::Labelled;
using test::on;
using test::Storage;

// Only the first three of forty columns say anything of the label.
Labelled rows_of_noise(std::size_t rows, unsigned seed) {
  constexpr std::int64_t kCols = 40;
  Labelled data;
  data.cols = kCols;
  data.x = test::uniform<double>(static_cast<std::int64_t>(rows), kCols, seed, -1, 1);
  const auto chance = test::uniform<double>(static_cast<std::int64_t>(rows), 1, seed + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    const double* x = data.x.data() + i * kCols;
    const double z = 3 * x[0] - 2 * x[1] + 2 * x[2];
    data.y.push_back(chance[i] < 1 / (1 + std::exp(-z)) ? 1 : 0);
  }
  return data;
}

std::size_t nonzeros(std::span<const double> w) {
  return static_cast<std::size_t>(
      std::count_if(w.begin(), w.end() - 1, [](double value) { return value != 0; }));
}

Parameters with_l1(Solver solver, Send send = Send::kModel) {
  Parameters p;
  p.solver = solver, p.send = send, p.l1 = 0.02, p.l2 = 0, p.batch_fraction = 0.2;
  return p;
}

TEST(LinearL1, SgdHasAboutAsManyZerosAsLbfgs) {
  const Labelled data = rows_of_noise(4000, 3);
  for (const Storage storage : {Storage::kDense, Storage::kSparse}) {
    const auto rows = test::dataset(data, storage);
    const auto exact = test::train(Kind::kLogistic, with_l1(Solver::kLbfgs), rows, on(4));
    ASSERT_LT(nonzeros(exact.w), 12u);
    for (const Send send : {Send::kModel, Send::kGradient}) {
      for (const bool adaptive : {false, true}) {
        Parameters p = with_l1(Solver::kSgd, send);
        p.adaptive = adaptive;
        const auto t = test::train(Kind::kLogistic, p, rows, on(4));
        EXPECT_LE(nonzeros(t.w), nonzeros(exact.w) + 4) << to_string(send) << adaptive;
        for (const std::size_t informative : {std::size_t{0}, std::size_t{1}, std::size_t{2}})
          EXPECT_NE(t.w[informative], 0);
        EXPECT_LT(t.result.objective, 1.05 * exact.result.objective) << to_string(send) << adaptive;
        const test::SerialLinear serial{data, "logistic", 2, false, true, p.l1, p.l2};
        EXPECT_NEAR(t.result.objective, serial.objective(t.w), 1e-9) << to_string(send);
      }
    }
  }
}

// Rounds that ran out go on from the weights before they were pruned.
TEST(LinearL1, MoreRoundsGiveTheBitsOfTheLongerRun) {
  const auto rows = test::dataset(rows_of_noise(1000, 5), Storage::kDense);
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Parameters p = with_l1(Solver::kSgd, send);
    p.tol = 0, p.max_iter = 9;
    const auto whole = test::train(Kind::kLogistic, p, rows, on(4));
    p.max_iter = 4;
    Linear first(Kind::kLogistic, p);
    job::train(first, rows, on(4));
    const TemporaryFolder folder;
    const auto path = folder.path() / "state.safetensors";
    job::write_state(path, first.state(), 4);
    p.max_iter = 9;
    Linear second(Kind::kLogistic, p);
    second.restore(data::SafetensorsFile(path));
    const auto result = job::train(second, rows, on(4));
    EXPECT_EQ(result.model_sha256, whole.result.model_sha256) << to_string(send);
  }
}

}  // namespace
}  // namespace meanwhile::learn::linear
