#include "meanwhile/base/error.h"
#include "meanwhile/learn/factorize/solvers.h"

namespace meanwhile::learn::factorize {

std::unique_ptr<RoundLearner> als_learner(const Parameters&) {
  throw base::Error(base::ErrorKind::kUsage, "als is not built");
}

}  // namespace meanwhile::learn::factorize
