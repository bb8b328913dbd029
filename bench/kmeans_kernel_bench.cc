// The assign step alone, on one thread: rows a second and operations a second (2 K D a row) for
// each instruction set and screen, at the shapes of bench/kmeans.py. The rate of sgemm on the same
// machine is the floor that float32 cannot beat; build with -DMEANWHILE_BENCH=ON and compare.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/learn/kmeans/kernel.h"

namespace {

using namespace meanwhile;
using namespace meanwhile::learn::kmeans;

std::vector<float> uniform(std::int64_t values) {
  const base::Random random(1, base::Purpose::kUser, 0, 0);
  std::vector<float> x(static_cast<std::size_t>(values));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random.uniform(i));
  return x;
}

void find_nearest(benchmark::State& state, const std::string& target, Screen screen) {
  const std::int64_t N = state.range(0), D = state.range(1), K = state.range(2);
  base::limit_simd(target);
  const std::vector<float> x = uniform(N * D);
  std::vector<const float*> rows;
  for (std::int64_t i = 0; i < N; ++i) rows.push_back(x.data() + i * D);
  std::vector<double> centers(x.begin(), x.begin() + K * D);
  const Spread spread{std::vector<float>(static_cast<std::size_t>(D), 0.5F), 0.5F};

  // A first round moves the centres from rows to means, where they are in all rounds but one.
  std::vector<std::int32_t> labels(rows.size(), -1);
  std::vector<double> values(rows.size()), others(rows.size()), sums(centers.size()),
      counts(static_cast<std::size_t>(K));
  Scratch scratch;
  const Nearest nearest{labels.data(), values.data(), others.data()};
  const Kernels<float>& kernel = kernels<float>();
  kernel.find_nearest(prepare(Metric::kEuclidean, centers, K, D, spread, screen), rows, scratch,
                      nearest);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double* sum = sums.data() + labels[i] * D;
    for (std::int64_t j = 0; j < D; ++j) sum[j] += double{rows[i][j]};
  }
  for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
  for (std::size_t i = 0; i < centers.size(); ++i)
    centers[i] = sums[i] / counts[i / static_cast<std::size_t>(D)];
  const Centers prepared = prepare(Metric::kEuclidean, centers, K, D, spread, screen);

  std::int64_t compared = 0;
  for (auto _ : state) {
    kernel.values_of(prepared, rows, labels.data(), values.data());
    compared = kernel.find_nearest(prepared, rows, scratch, nearest);
  }
  const double done = static_cast<double>(state.iterations() * N);
  state.counters["rows/s"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["op/s"] =
      benchmark::Counter(2 * done * static_cast<double>(K * D), benchmark::Counter::kIsRate);
  state.counters["exact/row"] = static_cast<double>(compared) / static_cast<double>(N);
}

void add(const std::string& target, Screen screen) {
  const std::string name = target + (screen == Screen::kInt8 ? "/int8" : "/float32");
  benchmark::RegisterBenchmark(name.c_str(), find_nearest, target, screen)
      ->ArgNames({"N", "D", "K"})
      ->Args({10'000, 1000, 1000})
      ->Args({50'000, 100, 100})
      ->Args({200'000, 16, 256})
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const bool vnni = base::simd_has_vnni();
  if (vnni) add("avx512_vnni", Screen::kInt8);
  for (const std::string& target : base::simd_targets()) {
    if (target != "avx512_vnni") add(target, Screen::kFloat32);
  }
  benchmark::RunSpecifiedBenchmarks();
}
