#include "meanwhile/learn/fit_columns.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/data/table/adapt.h"
#include "meanwhile/data/text/match.h"

namespace meanwhile::learn {

data::Dataset fit_columns(data::Dataset data, const LoadedModel& loaded, base::Threads threads) {
  const Model& model = *loaded.model;
  const std::int64_t cols = model.cols();
  const auto vocabulary = model.vocabulary();
  if (loaded.table) {
    data = data::adapt(std::move(data), *loaded.table, threads);
  } else if (vocabulary && !data.feature_names.empty() &&
             data.feature_names != vocabulary->words()) {
    data = data::match_columns(data, *vocabulary);
  }
  const std::int64_t found = data::cols(data.x);
  if (data::is_sparse(data) && found > cols && model.ignores_extra_columns()) {
    return data::clip_columns(data, cols);
  }
  if (found != cols) {
    throw base::Error(base::ErrorKind::kInput, "{}, but the model was made from {}",
                      base::counted(found, "column"), cols);
  }
  return data;
}

}  // namespace meanwhile::learn
