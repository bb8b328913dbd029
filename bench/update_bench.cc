// Where a list of rows stops paying: two updates with a share of their rows touched, added as lists
// and added full. Prints nanoseconds a row of the table, the least of several, and checks that both
// sums have the same bits.
//
//   update_bench [rows [repeats]]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/exchange/update.h"

namespace meanwhile::exchange {
namespace {

Update update_of(const UpdateShape& shape, double share, std::uint32_t shard) {
  Update update(shape);
  const base::Random random(1, base::Purpose::kUser, shard, 0);
  for (std::int64_t row = 0; row < shape[0].rows; ++row) {
    const auto i = static_cast<std::uint64_t>(row);
    if (random.uniform(2 * i) >= share) continue;
    for (double& value : update.touch<double>(0, row)) value += random.uniform(2 * i + 1);
  }
  return update;
}

template <class Make>
double least_s(int repeats, const Make& make, const std::vector<double>* expected,
               std::vector<double>& sum) {
  double least = 1e9;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    auto [a, b] = make();
    const auto begin = std::chrono::steady_clock::now();
    a.add(b);
    const auto end = std::chrono::steady_clock::now();
    least = std::min(least, std::chrono::duration<double>(end - begin).count());
    sum.assign(static_cast<std::size_t>(a.shape()[0].values()), 0.0);
    for (std::int64_t row = 0; row < a.shape()[0].rows; ++row) {
      if (!a.is_touched(0, row)) continue;
      const auto values = a.template row<double>(0, row);
      std::copy(values.begin(), values.end(), sum.begin() + row * a.shape()[0].width);
    }
  }
  if (expected != nullptr &&
      std::memcmp(expected->data(), sum.data(), sum.size() * sizeof(double)) != 0) {
    throw std::runtime_error("sums differ");
  }
  return least;
}

void run(std::int64_t rows, int repeats) {
  for (const std::int64_t width : {1, 4, 20, 100}) {
    const std::int64_t count = rows / width;
    UpdateShape dense = {{.rows = count, .width = width}}, sparse = dense;
    sparse[0].sparse = true;
    for (const double share : {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5}) {
      const auto pair_of = [&](const UpdateShape& shape) {
        return [&, shape] {
          return std::pair(update_of(shape, share / 2, 1), update_of(shape, share / 2, 2));
        };
      };
      std::vector<double> expected, found;
      const double full_s = least_s(repeats, pair_of(dense), nullptr, expected);
      const double list_s = least_s(repeats, pair_of(sparse), &expected, found);
      const double per_row = 1e9 / static_cast<double>(count);
      fmt::print(
          "width {:3}, {:4.0f} % touched: full {:8.2f} ns a row, list {:8.2f}, ratio {:.2f}\n",
          width, 100 * share, full_s * per_row, list_s * per_row, list_s / full_s);
    }
  }
}

}  // namespace
}  // namespace meanwhile::exchange

int main(int count, char** arguments) {
  meanwhile::exchange::run(count > 1 ? std::stoll(arguments[1]) : 2'000'000,
                           count > 2 ? std::stoi(arguments[2]) : 5);
}
