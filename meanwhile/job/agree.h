// Errors that all workers of a run throw together, so that no worker waits for one that gave up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "meanwhile/base/error.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

struct Failure {
  // The lowest of several is thrown; where equal, that of the lowest rank.
  std::int64_t first = 0, second = 0;
  base::Error error;
};

// Collective. THROWS on every worker the same error if any worker has one; what the transport does.
void agree(transport::Transport& transport, const std::optional<Failure>& mine);

// Collective. Runs `step`, which must not use the transport, and agrees about how it ended.
// Exceptions that are no Error become Error(kSystem).
void agree(transport::Transport& transport, const std::function<void()>& step);

}  // namespace meanwhile::job
