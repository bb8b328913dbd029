#include "meanwhile/learn/kmeans/parameters.h"

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"

namespace meanwhile::learn::kmeans {

namespace {

using base::Error;
using base::ErrorKind;

// More is never needed, and products of two such numbers still fit in 64 bits.
constexpr std::int64_t kMostCount = std::int64_t{1} << 30;

void in_range(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least)
    throw Error(ErrorKind::kUsage, "{} is {}; it must be at least {}", name, value, least);
  if (value > kMostCount)
    throw Error(ErrorKind::kUsage, "{} is {}; it must be at most {}", name, value, kMostCount);
}

}  // namespace

void validate(const Parameters& p) {
  in_range("n_clusters", p.n_clusters, 1);
  in_range("n_init", p.n_init.number.value_or(1), 1);
  in_range("max_iter", p.max_iter, 1);
  in_range("batch_size", p.batch_size, 0);
  if (!(p.tol >= 0)) throw Error(ErrorKind::kUsage, "tol is {}; it must be 0 or more", p.tol);
  if (!(p.shift_tol >= 0)) {
    throw Error(ErrorKind::kUsage, "shift_tol is {}; it must be 0 or more", p.shift_tol);
  }
}

// A start compares rows with clusters in some dozens of rounds, and about as often while it seeds.
// On data of 2 to 64 columns, a core did 1e8 of what is counted here in about a second.
std::int64_t starts(const Parameters& parameters, std::int64_t rows, std::int64_t stored) {
  constexpr double kCheap = 1e8;  // of all starts together
  constexpr double kRow = 16;     // columns whose cost is that of a row itself
  if (parameters.n_init.number) return *parameters.n_init.number;
  // Mini-batches are for data that is large, or that goes on with what was learned before.
  if (parameters.batch_size > 0) return 1;
  const double one = (static_cast<double>(stored) + kRow * static_cast<double>(rows)) *
                     static_cast<double>(parameters.n_clusters);
  const double most = static_cast<double>(kMostStarts);
  return static_cast<std::int64_t>(std::clamp(kCheap / std::max(one, 1.0), 1.0, most));
}

Json to_json(const Parameters& parameters) { return described_json(parameters); }

Parameters parameters_from_json(const Json& json) {
  auto parameters = from_described<Parameters>(json, "k-means");
  validate(parameters);
  return parameters;
}

}  // namespace meanwhile::learn::kmeans
