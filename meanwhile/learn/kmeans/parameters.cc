#include "meanwhile/learn/kmeans/parameters.h"

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"

namespace meanwhile::learn::kmeans {

namespace {

using base::Error;
using base::ErrorKind;

// Nobody needs more of anything, and products of two such numbers still fit in 64 bits.
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
  in_range("n_init", p.n_init, 1);
  in_range("max_iter", p.max_iter, 1);
  in_range("batch_size", p.batch_size, 0);
  if (!(p.tol >= 0)) throw Error(ErrorKind::kUsage, "tol is {}; it must be 0 or more", p.tol);
}

Json to_json(const Parameters& parameters) { return described_json(parameters); }

Parameters parameters_from_json(const Json& json) {
  auto parameters = from_described<Parameters>(json, "k-means");
  validate(parameters);
  return parameters;
}

}  // namespace meanwhile::learn::kmeans
