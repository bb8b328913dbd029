#include "meanwhile/learn/merge.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/version.h"
#include "meanwhile/data/table/schema.h"
#include "meanwhile/learn/merge_parts.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/state_file.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

struct Merger {
  std::string_view learner;
  MergedParts (*merge)(std::span<const MergeInput> models);
};

constexpr Merger kMergers[] = {{"kmeans", merge_kmeans},
                               {"svm", merge_linear},
                               {"logistic", merge_linear},
                               {"linear", merge_linear},
                               {"lda", merge_lda}};

// Levels, fill values, scales and names must be those of the first: columns mean the same then.
void check_same_columns(std::span<const MergeInput> models) {
  static constexpr char kTable[] = "table";
  const auto bytes_of = [](const MergeInput& model) {
    const auto& tensors = model.file->tensors();
    const auto found = tensors.find(kTable);
    return found == tensors.end() ? std::span<const std::byte>() : found->second.bytes;
  };
  const auto names_of = [](const MergeInput& model) {
    const auto table = table_of(*model.file);
    return table ? data::encoded_names(*table) : std::vector<std::string>();
  };
  const auto first = bytes_of(models.front());
  const auto names = names_of(models.front());
  for (const MergeInput& model : models.subspan(1)) {
    const auto mine = bytes_of(model);
    if (!std::equal(first.begin(), first.end(), mine.begin(), mine.end())) {
      refuse_merge(models.front(), model,
                   "their columns were encoded differently (levels, fill values or scales); train "
                   "on parts of one file, converted first");
    }
    if (names_of(model) != names) {
      refuse_merge(models.front(), model, "their columns have different names");
    }
  }
}

Json provenance(std::span<const MergeInput> models, std::span<const double> weights) {
  Json merged = Json::array();
  for (std::size_t i = 0; i < models.size(); ++i) {
    Json& one =
        merged.emplace_back(Json{{"model", models[i].path.string()},
                                 {"model_sha256", data::sha256(learned_tensors(*models[i].file))},
                                 {"weight", weights[i]}});
    if (const std::string sha256 = data_sha256_of(*models[i].file); !sha256.empty()) {
      one["data_sha256"] = sha256;
    }
    const Json about = metadata_json(*models[i].file, "about", "a model");
    if (about.contains("merged")) one["merged"] = about["merged"];
  }
  return merged;
}

}  // namespace

void refuse_merge(const MergeInput& one, const MergeInput& other, const std::string& why) {
  throw Error(ErrorKind::kInput, "{} and {} cannot be merged: {}", one.path.string(),
              other.path.string(), why);
}

void check_widths(const MergeInput& one, const Width& width, const MergeInput& other,
                  const Width& other_width) {
  if (other_width.cols == width.cols || (other_width.open && width.open)) return;
  refuse_merge(one, other,
               fmt::format("the first has {}, the second {}", base::counted(width.cols, "column"),
                           other_width.cols));
}

MergedModel merge_models(std::span<const MergeInput> models) {
  if (models.size() < 2) throw Error(ErrorKind::kUsage, "a merger needs two models or more");
  const std::string learner = learner_of(*models.front().file);
  for (const MergeInput& model : models.subspan(1)) {
    const std::string other = learner_of(*model.file);
    if (other == learner) continue;
    throw Error(ErrorKind::kUsage,
                "{} is a model of {}, {} of {}: models of one learner are merged",
                models.front().path.string(), learner, model.path.string(), other);
  }
  const auto merger = std::find_if(std::begin(kMergers), std::end(kMergers),
                                   [&](const Merger& each) { return each.learner == learner; });
  if (merger == std::end(kMergers)) {
    throw Error(ErrorKind::kUsage,
                "models of {} cannot be merged; those of kmeans, svm, logistic, linear and lda can",
                learner);
  }
  check_same_columns(models);
  MergedParts parts = merger->merge(models);
  MergedModel result;
  result.merged = provenance(models, parts.weights);
  parts.about["merged"] = result.merged;

  std::map<std::string, data::Tensor> tensors;
  for (const auto& [name, numbers] : parts.tensors) {
    tensors[name] = data::tensor_of<double>(numbers.values, numbers.shape);
  }
  const data::SafetensorsFile& first = *models.front().file;
  if (first.has("table")) tensors["table"] = first.tensor("table");
  std::int64_t rounds = 0;
  for (const MergeInput& model : models) rounds += rounds_of(*model.file);
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  result.file = data::safetensors_bytes(tensors, {{"kind", "model"},
                                                  {"learner", learner},
                                                  {"parameters", text(parts.parameters)},
                                                  {"progress", text(parts.progress)},
                                                  {"about", text(parts.about)},
                                                  {"rounds", std::to_string(rounds)},
                                                  {"version", base::kVersion},
                                                  {"format_version", kStateFormatVersion}});
  return result;
}

}  // namespace meanwhile::learn
