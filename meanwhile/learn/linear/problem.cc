#include "meanwhile/learn/linear/problem.h"

#include <algorithm>
#include <unordered_map>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

double Problem::loss_and_slopes(std::span<double> z, double label) const {
  if (softmax) return linear::softmax(z, static_cast<std::size_t>(label));
  double sum = 0;
  for (std::size_t c = 0; c < outputs; ++c) {
    const double y = target(label, c);
    sum += loss.value(z[c], y);
    z[c] = loss.slope(z[c], y);
  }
  return sum;
}

Examples::Examples(const data::Part& part, const Problem& problem)
    : Examples(part.data, part.shards, problem) {}

Examples::Examples(const data::Dataset& data, std::span<const data::Shard> shards,
                   const Problem& problem)
    : data_(&data), shards_(shards) {
  if (!problem.classes.empty()) number_labels(problem);
}

void Examples::hold_out(double fraction, std::uint64_t seed) {
  fraction_ = fraction;
  seed_ = seed;
}

// Only rows of shards that are here are looked at: others may be mapped, but not to be touched.
void Examples::number_labels(const Problem& problem) {
  const std::vector<double>& known = problem.classes;
  const std::span<const double> labels = data_->labels;
  classes_.resize(labels.size());
  for (const data::Shard& shard : shards_) {
    for_rows(shard, [&](std::int64_t row, std::int64_t) {
      const double label = labels[static_cast<std::size_t>(row)];
      const auto found = std::lower_bound(known.begin(), known.end(), label);
      if (found == known.end() || *found != label) {
        throw Error(ErrorKind::kInput, "label {} is none of the {} classes the model knows", label,
                    known.size());
      }
      classes_[static_cast<std::size_t>(row)] = static_cast<std::uint16_t>(found - known.begin());
    });
  }
}

}  // namespace meanwhile::learn::linear
