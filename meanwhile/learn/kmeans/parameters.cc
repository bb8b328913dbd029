#include "meanwhile/learn/kmeans/parameters.h"

#include "meanwhile/base/error.h"

namespace meanwhile::learn::kmeans {

namespace {

using base::Error;
using base::ErrorKind;

// Nobody needs more of anything, and products of two such numbers still fit in 64 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 30;

void in_range(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least)
    throw Error(ErrorKind::kUsage, "{} is {}; it must be at least {}", name, value, least);
  if (value > kMost)
    throw Error(ErrorKind::kUsage, "{} is {}; it must be at most {}", name, value, kMost);
}

}  // namespace

void validate(const Parameters& p) {
  in_range("n_clusters", p.n_clusters, 1);
  in_range("n_init", p.n_init, 1);
  in_range("max_iter", p.max_iter, 1);
  in_range("batch_size", p.batch_size, 0);
  if (!(p.tol >= 0)) throw Error(ErrorKind::kUsage, "tol is {}; it must be 0 or more", p.tol);
  if (p.metric != "euclidean" && p.metric != "cosine") {
    throw Error(ErrorKind::kUsage, "metric is '{}'; it must be euclidean or cosine", p.metric);
  }
}

Json to_json(const Parameters& parameters) {
  Json json;
  describe(parameters,
           [&](const char* name, const auto& value, const char*) { json[name] = value; });
  return json;
}

Parameters parameters_from_json(const Json& json) {
  Parameters parameters;
  try {
    describe(parameters, [&](const char* name, auto& value, const char*) {
      if (json.contains(name)) json.at(name).get_to(value);
    });
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::kInput, "parameters of k-means: {}", e.what());
  }
  validate(parameters);
  return parameters;
}

}  // namespace meanwhile::learn::kmeans
