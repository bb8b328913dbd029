// Rows of mapped files that were used and need not stay in memory.
#pragma once

#include "meanwhile/data/deal.h"
#include "meanwhile/data/matrix.h"

namespace meanwhile::data {

// Lets go of the pages of these rows, and of all else of the matrix in the same 2 MiB of addresses.
// Touching a page of a file maps others around it, as far as the system likes within a huge page;
// those belong to rows of other shards, which may have let go of them already. Rows that are still
// needed are mapped again when they are touched. REQUIRES: `x` lies in a mapped file.
void release_rows(const Matrix& x, RowRange rows);

}  // namespace meanwhile::data
