// Rows in the columns of a model.
#pragma once

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::learn {

// The rows as the model wants them: columns of a table encoded and weighed as in training, words
// put where the vocabulary has them, columns that the model ignores left out. Rows that fit already
// are returned as they are. THROWS Error(kInput) when columns do not fit.
data::Dataset fit_columns(data::Dataset data, const LoadedModel& loaded, base::Threads threads);

}  // namespace meanwhile::learn
