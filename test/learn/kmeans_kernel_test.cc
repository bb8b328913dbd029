// The screens may only be fast: labels are those of float64 arithmetic for every instruction set,
// screen, element type and shape, and the bits of distances do not depend on any of them.
#include <gtest/gtest.h>

#include <cstring>

#include "meanwhile/base/simd.h"
#include "meanwhile/learn/kmeans/assign.h"
#include "meanwhile/learn/kmeans/kernel.h"
#include "test/learn/points.h"

namespace meanwhile::learn::kmeans {
namespace {

class Targets : public testing::Test {
 protected:
  ~Targets() override { base::limit_simd(best_); }
  // Calls check(name) with each instruction set of this machine in use.
  template <class Check>
  void on_each(Check check) {
    for (const std::string& name : base::simd_targets()) all_.push_back(name);
    for (const std::string& name : all_) {
      base::limit_simd(name);
      SCOPED_TRACE(name);
      check();
    }
  }
  std::string best_ = base::simd_target();
  std::vector<std::string> all_;
};

struct Found {
  std::vector<std::int32_t> labels;
  std::vector<double> values, others;
};

Spread spread_of(const data::Dataset& data) {
  const data::RowRange all[] = {{0, data::rows(data.x)}};
  return measure_spread(data.x, all);
}

template <class T>
Found find(const std::vector<T>& x, std::int64_t D, const std::vector<double>& centers,
           Screen screen, Metric metric = Metric::kEuclidean, std::int32_t guess = -1) {
  const data::Dataset data = test::dense(x, D);
  const auto K = static_cast<std::int64_t>(centers.size()) / D;
  const Prepared prepared = prepare(data.x, metric, centers, K, spread_of(data), screen);
  std::vector<const T*> rows;
  for (std::size_t i = 0; i * static_cast<std::size_t>(D) < x.size(); ++i) {
    rows.push_back(x.data() + i * static_cast<std::size_t>(D));
  }
  Found found{std::vector<std::int32_t>(rows.size(), guess), std::vector<double>(rows.size()),
              std::vector<double>(rows.size())};
  if (guess >= 0)
    kernels<T>().values_of(prepared.dense, rows, found.labels.data(), found.values.data());
  Scratch scratch;
  kernels<T>().find_nearest(prepared.dense, rows, scratch,
                            {found.labels.data(), found.values.data(), found.others.data()});
  return found;
}

std::vector<Screen> screens() {
  if (base::simd_has_vnni()) return {Screen::kFloat32, Screen::kInt8};
  return {Screen::kFloat32};
}

template <class T>
std::vector<double> first_rows(const std::vector<T>& x, std::int64_t D, std::int64_t K) {
  return {x.begin(), x.begin() + K * D};
}

TEST_F(Targets, LabelsAreThoseOfFloat64ForEveryShape) {
  on_each([&] {
    for (const std::int64_t D : {1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 100}) {
      for (const std::int64_t K : {1, 2, 15, 16, 17, 33, 100}) {
        const auto x = test::uniform(131, D, static_cast<unsigned>(D * 1000 + K));
        auto centers = first_rows(test::uniform(K, D, 7), D, K);
        const test::SerialKMeans truth = test::serial_round(x, D, centers);
        for (const Screen screen : screens()) {
          for (const std::int32_t guess : {-1, static_cast<std::int32_t>(K / 2)}) {
            const Found found = find(x, D, centers, screen, Metric::kEuclidean, guess);
            ASSERT_EQ(found.labels, truth.labels) << "D=" << D << " K=" << K << " guess " << guess;
            for (std::size_t i = 0; i < found.others.size(); ++i) {
              ASSERT_LE(found.others[i], truth.second[i] * (1 + 1e-12));
            }
          }
        }
      }
    }
  });
}

TEST_F(Targets, MoreCentresThanFitInOneSweep) {
  on_each([&] {
    const std::int64_t D = 5, K = 2500;
    const auto x = test::uniform(300, D, 3);
    const auto centers = first_rows(test::uniform(K, D, 4), D, K);
    for (const Screen screen : screens()) {
      EXPECT_EQ(find(x, D, centers, screen).labels, test::serial_round(x, D, centers).labels);
    }
  });
}

// Points about 1e6: in float32 the squared distance itself has no correct digit.
TEST_F(Targets, AnOffsetDoesNotBlurLabels) {
  on_each([&] {
    const std::int64_t D = 20, K = 30;
    const auto x = test::uniform(500, D, 5, 1e6, 1e6 + 8);
    const auto centers = first_rows(x, D, K);
    for (const Screen screen : screens()) {
      EXPECT_EQ(find(x, D, centers, screen).labels, test::serial_round(x, D, centers).labels);
    }
  });
}

// Two centres a hair apart: only float64 can tell which is nearer, and for some rows not even that.
TEST_F(Targets, NearTiesAreDecidedInFloat64AndTiesByNumber) {
  on_each([&] {
    const std::int64_t D = 12, K = 20;
    const auto x = test::uniform<double>(400, D, 6);
    auto centers = first_rows(test::uniform<double>(K, D, 8), D, K);
    for (std::int64_t k = 10; k < K; ++k) {
      for (std::int64_t j = 0; j < D; ++j) {
        centers[static_cast<std::size_t>(k * D + j)] =
            centers[static_cast<std::size_t>((k - 10) * D + j)] + (k < 15 ? 1e-13 : 0);
      }
    }
    for (const Screen screen : screens()) {
      const Found found = find(x, D, centers, screen);
      for (const std::int32_t label : found.labels) EXPECT_LT(label, 15);  // 15..19 equal 5..9
      // The canonical value decides; the serial sum, in another order, may differ in the last bit.
      const Found other = find(x, D, centers, Screen::kFloat32);
      EXPECT_EQ(found.labels, other.labels);
      const test::SerialKMeans truth = test::serial_round(x, D, centers);
      double inertia = 0;
      for (const double value : found.values) inertia += value;
      EXPECT_NEAR(inertia, truth.inertia, 1e-12 * truth.inertia);
    }
  });
}

TEST_F(Targets, ScaleDoesNotMatter) {
  on_each([&] {
    for (const double scale : {1e-35, 1e-20, 1e-3, 1e4, 1e17}) {
      const std::int64_t D = 9, K = 12;
      auto x = test::uniform(200, D, 9);
      for (float& value : x) value = static_cast<float>(static_cast<double>(value) * scale);
      const auto centers = first_rows(x, D, K);
      for (const Screen screen : screens()) {
        EXPECT_EQ(find(x, D, centers, screen).labels, test::serial_round(x, D, centers).labels)
            << scale;
      }
    }
    const std::int64_t D = 4, K = 5;
    auto x = test::uniform<double>(100, D, 10);
    for (double& value : x) value *= 1e140;
    const auto centers = first_rows(x, D, K);
    EXPECT_EQ(find(x, D, centers, Screen::kFloat32).labels,
              test::serial_round(x, D, centers).labels);
  });
}

// One wild value makes the 8-bit steps coarse, or is clipped: both only cost time.
TEST_F(Targets, OutliersDoNotMatter) {
  on_each([&] {
    const std::int64_t D = 16, K = 40;
    auto x = test::uniform(2000, D, 11);
    x[5] = 1e9F;
    x[20000] = -1e7F;
    const auto centers = first_rows(x, D, K);
    for (const Screen screen : screens()) {
      EXPECT_EQ(find(x, D, centers, screen).labels, test::serial_round(x, D, centers).labels);
    }
  });
}

// Columns of counts and bytes, as logs have: a few values are a million times the others, and the
// bound on the error of a score lies below every score there is.
TEST_F(Targets, HeavyTailsDoNotMatter) {
  on_each([&] {
    const std::int64_t D = 8, K = 20;
    auto x = test::uniform(3000, D, 16, -12, 12);
    for (float& value : x) value = std::exp(value) * std::exp(value / 3);
    x[8000] = 7e8F;
    const auto centers = first_rows(x, D, K);
    for (const Screen screen : screens()) {
      EXPECT_EQ(find(x, D, centers, screen).labels, test::serial_round(x, D, centers).labels);
    }
    // One centre far out, too.
    auto far = centers;
    far[3] = 5e8;
    for (const Screen screen : screens()) {
      EXPECT_EQ(find(x, D, far, screen, Metric::kEuclidean, 3).labels,
                test::serial_round(x, D, far).labels);
    }
  });
}

TEST_F(Targets, BitsAreTheSameOnEveryInstructionSet) {
  const std::int64_t D = 37, K = 21;
  const auto x = test::uniform(300, D, 12);
  const auto centers = first_rows(test::uniform(K, D, 13), D, K);
  for (const Metric metric : {Metric::kEuclidean, Metric::kCosine}) {
    const Found reference = find(x, D, centers, Screen::kFloat32, metric);
    on_each([&] {
      for (const Screen screen : screens()) {
        const Found found = find(x, D, centers, screen, metric);
        EXPECT_EQ(found.labels, reference.labels);
        EXPECT_EQ(0, std::memcmp(found.values.data(), reference.values.data(),
                                 found.values.size() * sizeof(double)));
      }
    });
  }
}

TEST_F(Targets, ValuesBelowABoundAreExactAndOthersAreTheBound) {
  on_each([&] {
    const std::int64_t D = 10, K = 20;
    const auto x = test::uniform(100, D, 14);
    const auto centers = first_rows(test::uniform(K, D, 15), D, K);
    const data::Dataset data = test::dense(x, D);
    std::vector<std::int64_t> ids(100);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
    AssignScratch scratch;
    for (const Screen screen : screens()) {
      const Prepared prepared =
          prepare(data.x, Metric::kEuclidean, centers, K, spread_of(data), screen);
      std::vector<double> all(100 * K), below(100 * K);
      const std::vector<double> bounds(100, 1.2);
      all_distances(data.x, prepared, ids, scratch, all.data());
      nearer_distances(data.x, prepared, ids, bounds.data(), scratch, below.data());
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(below[i], std::min(all[i], 1.2));
    }
  });
}

TEST(Simd, AnUnknownInstructionSetIsNamedWithTheKnownOnes) {
  const std::string best = base::simd_target();
  try {
    base::limit_simd("mmx");
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find(best), std::string::npos) << e.what();
  }
  base::limit_simd(best);
}

}  // namespace
}  // namespace meanwhile::learn::kmeans
