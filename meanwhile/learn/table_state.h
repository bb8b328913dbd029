// The columns that a model was made from, in its state (data/table/schema.h).
#pragma once

#include <memory>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/table/schema.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

// Puts the schema into the state: levels, fills and scales change what a model answers, so they are
// a tensor, and part of model_sha256. Plain numbers are used as they are; their names and roles are
// kept in `about`. Does nothing when `table` is null.
void put_table(State& state, const data::TableSchema* table);

// The schema in a state file; null when it has none. THROWS Error(kInput) when it is damaged.
std::shared_ptr<const data::TableSchema> table_of(const data::SafetensorsFile& file);

}  // namespace meanwhile::learn
