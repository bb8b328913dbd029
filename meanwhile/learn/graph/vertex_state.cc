// The state of a vertex program's rounds.
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/graph/vertex_rounds.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::graph {

namespace {

constexpr char kWhat[] = "a state of a vertex program";

template <class T>
void take(const data::SafetensorsFile& file, const char* name, std::vector<T>& to) {
  const auto values = file.tensor(name).template as<T>();
  to.assign(values.begin(), values.end());
}

}  // namespace

State VertexRounds::state() const {
  State state;
  const auto count = static_cast<std::int64_t>(degree_.size());
  state.learned["values"] =
      data::tensor_of<double>(value_, {count, static_cast<std::int64_t>(width_)});
  if (has_facts()) ids_.put(state);
  shard_change_.clear();
  for (const Tail& tail : tails_) shard_change_.push_back(tail.change);
  state.carried["shard_change"] =
      data::tensor_of<double>(shard_change_, {std::ssize(shard_change_)});
  state.carried["weight"] = data::tensor_of<double>(weight_, {count});
  state.carried["degree"] = data::tensor_of<std::int64_t>(degree_, {count});
  if (!given_.empty()) {
    state.carried["given"] = data::tensor_of<double>(given_, {count});
  } else if (!given_ids_.empty()) {
    // Workers of a store begin with a state, not with the file.
    const std::vector<double>& values = options_.given.values;
    state.carried["given_values"] = data::tensor_of<double>(values, {std::ssize(values)});
    state.carried["given_ids"] = {
        "U8", {std::ssize(given_ids_)}, std::as_bytes(std::span(given_ids_))};
  }
  state.parameters = options_.parameters;
  state.progress = {{"round", round_.round},
                    {"change", change_},
                    {"level", round_.level},
                    {"converged", converged_}};
  state.about = options_.about;
  state.about["vertices"] = count;
  state.about["residual"] = change_;
  state.about["converged"] = converged_;
  return state;
}

void VertexRounds::restore(const data::SafetensorsFile& file) {
  take(file, "values", value_);
  take(file, "carried/weight", weight_);
  take(file, "carried/degree", degree_);
  const std::size_t count = degree_.size();
  ids_ = VertexIds::of_file(file, static_cast<std::int64_t>(count));
  given_.clear();
  if (file.has("carried/given")) take(file, "carried/given", given_);
  if (file.has("carried/given_values")) {
    take(file, "carried/given_values", options_.given.values);
    const auto bytes = file.tensor("carried/given_ids").bytes;
    given_ids_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    options_.given.ids.clear();
    for (std::size_t at = 0; at < given_ids_.size();) {
      const std::size_t end = given_ids_.find('\n', at);
      if (end == std::string::npos) break;
      options_.given.ids.push_back(given_ids_.substr(at, end - at));
      at = end + 1;
    }
  }
  const bool fit = weight_.size() == count && value_.size() == count * width_ &&
                   (given_.empty() || given_.size() == count) &&
                   options_.given.ids.size() == options_.given.values.size();
  if (!fit) {
    throw base::Error(base::ErrorKind::kInput, "is not {}: its tensors do not fit", kWhat);
  }
  const Json progress = metadata_json(file, "progress", kWhat);
  round_.round = base::count_or(progress, "round", 1);
  change_ = base::number_or(progress, "change", 0);
  std::vector<double> changes;
  take(file, "carried/shard_change", changes);
  tails_.assign(changes.size(), {});
  for (std::size_t s = 0; s < changes.size(); ++s) tails_[s].change = changes[s];
  round_.level = base::number_or(progress, "level", 0);
  round_.vertices = static_cast<std::int64_t>(count);
  converged_ = base::flag_or(progress, "converged", false);
}

}  // namespace meanwhile::learn::graph
