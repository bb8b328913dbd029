// The record that a run writes of itself.
#pragma once

#include <filesystem>
#include <string>

#include "meanwhile/data/part.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::job {

// Rows, columns, stored values, type, layout, bytes. The rows and values of a part are those of the
// whole data; its bytes are those that are here.
base::Json shape_json(const data::Dataset& data);
base::Json shape_json(const data::Part& part);

// Shape of the whole data, for a plan.
learn::Shape shape_of(const data::Part& part);

// Adds what is known when training has ended.
void record_end(base::Json& record, const TrainResult& trained);

// runs/NAME-N with the smallest N that is free.
std::filesystem::path next_run(const std::string& name);

// THROWS Error(kUsage) when no run directory can be made at `path`.
void check_out(const std::filesystem::path& path);

}  // namespace meanwhile::job
