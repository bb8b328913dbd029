// Rows in the terms of a model, as `transform` writes them, and `predict` for a model without
// labels.
#pragma once

#include <string>

#include "meanwhile/cli/output/console.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::cli {

// All rows of `data`, in blocks of bounded size. REQUIRES: check_table_name(out).
// THROWS Error(kInput, kSystem), ReaderGone.
void write_transformed(Console& console, const learn::Model& model, const data::Dataset& data,
                       int threads, const std::string& out);

}  // namespace meanwhile::cli
