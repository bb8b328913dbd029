// What `train` writes down and tells of a run.
#pragma once

#include <filesystem>
#include <string>

#include "meanwhile/data/part.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/entry.h"

namespace meanwhile::cli {

// Rows, columns, stored values, type, layout, bytes; of a part, rows and values are those of the
// whole data, and bytes those that are here.
base::Json shape_of(const data::Dataset& data);
base::Json shape_of(const data::Part& part);

// runs/NAME-N with the smallest N that is free.
std::filesystem::path next_run(const std::string& name);

// THROWS Error(kUsage) when no run directory can be made at `path`.
void check_out(const std::filesystem::path& path);

// All that `--json` prints. `asked` holds what was known before training: learner, parameters, ...
base::Json result_json(const learn::Entry& entry, const base::Json& asked,
                       const job::TrainResult& result);

}  // namespace meanwhile::cli
