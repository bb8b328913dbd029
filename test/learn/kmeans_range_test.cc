// Labels are those of float64 arithmetic whatever the size of the numbers: what float32 cannot hold
// must not be screened by it.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/learn/kmeans/model.h"

namespace meanwhile::learn::kmeans {
namespace {

constexpr std::int64_t kRows = 200, kCols = 7, kClusters = 40;

double noise(std::uint64_t index) {
  return 2 * base::Random(7, base::Purpose::kUser, 0, 0).uniform(index) - 1;
}

// Rows of about `size` and centres of about `center_size` against a plain search.
template <class T>
void expect_exact(double size, double center_size) {
  SCOPED_TRACE(testing::Message() << "rows of " << size << ", centres of " << center_size);
  std::vector<T> values(kRows * kCols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(size * noise(i));
  Model model;
  model.n_clusters = kClusters;
  model.cols = kCols;
  model.counts.assign(kClusters, 1);
  for (std::size_t i = 0; i < kClusters * kCols; ++i) {
    model.centers.push_back(center_size * noise(1'000'000 + i));
  }
  data::Dataset data;
  data.x = data::Dense<T>{values.data(), kRows, kCols};
  const Assignment assignment = assign(model, data, 1);

  int wrong = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    std::int32_t nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < kClusters; ++k) {
      double distance = 0;
      for (std::size_t j = 0; j < kCols; ++j) {
        const double d = double{values[i * kCols + j]} - model.centers[k * kCols + j];
        distance += d * d;
      }
      if (nearest < 0 || distance < least) {
        least = distance;
        nearest = static_cast<std::int32_t>(k);
      }
    }
    wrong += assignment.labels[i] != nearest;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(KMeansRange, RowsAndCentresOfAnySize) {
  for (const double size : {1e-140, 1e-60, 1e-45, 1e-42, 1e-39, 1e-36, 1e-33, 1e-30, 1e-20, 1.0,
                            1e20, 1e30, 1e33, 1e36, 1e39, 1e60, 1e140}) {
    expect_exact<double>(size, size);
    if (size > 1e-45 && size < 1e38) expect_exact<float>(size, size);
  }
}

TEST(KMeansRange, RowsAndCentresOfDifferentSizes) {
  for (const double size : {1e-140, 1e-60, 1e-30, 1e-10, 1e10, 1e30, 1e60, 1e140}) {
    expect_exact<double>(1, size);
    expect_exact<double>(size, 1);
    expect_exact<float>(1, size);
  }
}

}  // namespace
}  // namespace meanwhile::learn::kmeans
