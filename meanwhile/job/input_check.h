// Checks of what several workers are to read, before they read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// THROWS Error(kUsage) for a number that no job has; 0 is "by the size of the data".
void check_shards(int shards);

// Rows of weight 0 are left out: `dealt` are left of `read` rows. THROWS Error(kInput) when none of
// several is.
void check_weights(std::int64_t read, std::int64_t dealt);

// For several workers, before anything is opened: a pipe that only one worker can read would hang
// the others. THROWS Error(kUsage).
void check_paths(const std::vector<std::filesystem::path>& paths);

// Collective. THROWS Error(kInput) on all workers if their copies of the files differ in name or
// size.
void check_same(transport::Transport& transport, const std::vector<std::filesystem::path>& files);

}  // namespace meanwhile::job
