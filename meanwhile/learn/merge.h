// Models that were trained apart, made into one.
//
//   kmeans                 the centres of all models, each weighing the rows it was made from,
//                          reduced to as many as one model has
//   svm, logistic, linear  the mean of the weights, each model weighing its rows
//   lda                    topics of two models are matched, and their counts added
//
// merge_parts.h has the details.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::learn {

struct MergeInput {
  std::filesystem::path path;
  const data::SafetensorsFile* file = nullptr;  // borrowed
};

struct MergedModel {
  std::vector<std::byte> file;  // sealed, as a model file is
  // The field `merged` of its `about`: path, model_sha256 and weight of each model, and what it was
  // merged from itself.
  base::Json merged;
};

// THROWS Error(kUsage) for fewer than two models, different learners, and learners whose models do
// not add up; Error(kInput) when columns, classes or topics do not fit, with both paths.
MergedModel merge_models(std::span<const MergeInput> models);

}  // namespace meanwhile::learn
