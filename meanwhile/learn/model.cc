#include "meanwhile/learn/model.h"

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

Predictions Model::predict(const data::Dataset&, base::Threads) const {
  throw Error(ErrorKind::kUsage, "this model has no labels; 'transform' writes its values");
}

void Model::probabilities(const data::Dataset&, std::int64_t, std::int64_t, base::Threads,
                          std::span<double>) const {
  throw Error(ErrorKind::kUsage, "{}: this model has none; a logistic model has",
              base::parameter("probabilities"));
}

void Model::write_answer(const std::string&, const std::function<void(std::string_view)>&) const {
  throw Error(ErrorKind::kUsage, "this model predicts for rows; name a file that has some");
}

}  // namespace meanwhile::learn
