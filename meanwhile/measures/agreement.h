// How well two ways to part the same rows agree. Both measures count each row once.
#pragma once

#include <cstdint>
#include <span>

namespace meanwhile::measures {

struct Agreement {
  // The Rand index, corrected for chance (Hubert and Arabie, 1985): 1 where the parts are the same,
  // about 0 where they have nothing to do with each other.
  double ari = 1;
  // Mutual information over the mean of both entropies: from 0 to 1.
  double nmi = 1;
};

// `labels`: any numbers, equal in one part. REQUIRES: as many of both.
Agreement agreement(std::span<const double> labels, std::span<const std::int32_t> clusters);

}  // namespace meanwhile::measures
