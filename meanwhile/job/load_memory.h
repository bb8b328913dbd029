// Rows that are in memory already, as an array of another program is, dealt to shards as those of
// files are.
#pragma once

#include <string>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/part.h"
#include "meanwhile/job/load.h"

namespace meanwhile::job {

// Checks that columns of sparse rows rise and are columns of the matrix, so that they can be
// indexed with. THROWS Error(kInput) with the row.
void check_columns(const data::Matrix& x, base::Threads threads);

// Checks what readers of files check: every value, label and weight is finite, columns of sparse
// rows rise, weights are not negative. THROWS Error(kInput), `name` first, with the place.
void check_rows(const data::Dataset& data, const std::string& name, base::Threads threads);

// The rows, checked and dealt. Matrix and labels stay where they are. THROWS as check_rows();
// Error(kUsage) when there are other workers than this process.
data::Part load_memory(const data::Dataset& data, const std::string& name,
                       const LoadOptions& options, base::Threads threads,
                       transport::Transport* transport);

}  // namespace meanwhile::job
