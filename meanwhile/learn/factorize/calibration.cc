#include "meanwhile/learn/factorize/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "meanwhile/base/random.h"
#include "meanwhile/data/dataset.h"

namespace meanwhile::learn::factorize {

namespace {

constexpr std::int64_t kRatingsEach = 32;  // of a user

// A fourth as many items as users; a user rates one item of each stretch of items.
data::Dataset made_up_ratings(std::int64_t users) {
  const std::int64_t stretch = std::max<std::int64_t>(2, users / 4 / kRatingsEach);
  const std::int64_t items = stretch * kRatingsEach;
  const auto stored = static_cast<std::size_t>(users * kRatingsEach);
  base::Buffer<std::int64_t> starts(static_cast<std::size_t>(users) + 1);
  base::Buffer<std::int32_t> columns(stored);
  base::Buffer<float> values(stored);
  const base::Random random(1, base::Purpose::kUser, 0, 0);
  for (std::int64_t u = 0; u <= users; ++u) starts[static_cast<std::size_t>(u)] = u * kRatingsEach;
  for (std::size_t i = 0; i < stored; ++i) {
    const auto within =
        static_cast<std::int64_t>(random.below(2 * i, static_cast<std::uint64_t>(stretch)));
    const std::int64_t of = static_cast<std::int64_t>(i) % kRatingsEach;
    columns[i] = static_cast<std::int32_t>(of * stretch + within);
    values[i] = static_cast<float>(1 + random.below(2 * i + 1, 5));
  }
  data::Dataset data;
  data.x =
      data::Sparse<float>{own(data, std::move(starts)).data(), own(data, std::move(columns)).data(),
                          own(data, std::move(values)).data(), users, items};
  for (std::int64_t u = 0; u < users; ++u) data.class_names.push_back(fmt::format("{}", u));
  for (std::int64_t i = 0; i < items; ++i) data.feature_names.push_back(fmt::format("{}", i));
  return data;
}

}  // namespace

std::vector<CalibrationShape> calibration(bool quick) {
  std::vector<CalibrationShape> shapes;
  for (const char* solver : {"als", "sgd"}) {
    for (const std::int64_t least : {1 << 10, 1 << 16}) {
      if (quick && least > 1 << 10) continue;
      CalibrationShape& shape = shapes.emplace_back();
      shape.parameters = {{"solver", solver}, {"n_factors", 32}, {"max_iter", 4}, {"tol", 0}};
      shape.sparse = true;
      shape.cols = kRatingsEach;
      shape.least_rows = least;
      shape.rows = made_up_ratings;
    }
  }
  return shapes;
}

}  // namespace meanwhile::learn::factorize
