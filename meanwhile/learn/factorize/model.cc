#include "meanwhile/learn/factorize/model.h"

#include "meanwhile/base/error.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;

FactorModel::FactorModel(const data::SafetensorsFile& file)
    : parameters_(parameters_from_json(metadata_json(file, "parameters", "a model of factorize"))),
      trained_(Trained::of_file(file)) {}

void FactorModel::transform(const data::Dataset&, std::int64_t, std::int64_t, int,
                            std::span<double>) const {
  throw Error(ErrorKind::kUsage,
              "factorize knows users by name and does not transform rows; the factors of its users "
              "are the tensor user_factors of the model file");
}

Json FactorModel::evaluate(const data::Dataset&, int) const {
  throw Error(ErrorKind::kUsage, "factorize is measured on pairs of users and items");
}

Json FactorModel::describe() const {
  return {{"users", trained_.users()},       {"items", trained_.items()},
          {"n_factors", trained_.n_factors}, {"feedback", to_string(parameters_.feedback)},
          {"biases", trained_.biased},       {"mean", trained_.mean}};
}

}  // namespace meanwhile::learn::factorize
