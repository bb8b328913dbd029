#include "meanwhile/learn/belief/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::belief {

using base::Error;
using base::ErrorKind;

namespace {

constexpr char kWhatModel[] = "a model of belief propagation";
constexpr std::size_t kPieceBytes = 1 << 16;  // of text, before it is written

// The metadata `about` of a state; a file of which it is missing says nothing of itself.
Json about_of(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("about");
  if (found == file.metadata().end()) return Json::object();
  return base::try_parse_object(found->second).value_or(Json::object());
}

}  // namespace

BeliefModel::BeliefModel(const data::SafetensorsFile& file) : AnswerModel("belief") {
  if (learner_of(file) != "belief") throw Error(ErrorKind::kInput, "not {}", kWhatModel);
  if (!file.has("marginals")) {
    throw Error(ErrorKind::kInput, "not {}: it has no marginals yet", kWhatModel);
  }
  const auto cards = file.tensor("cards").as<std::int32_t>();
  const auto marginals = file.tensor("marginals").as<double>();
  start_.push_back(0);
  for (const std::int32_t card : cards) {
    if (card < 1) throw Error(ErrorKind::kInput, "not {}: a variable has no states", kWhatModel);
    start_.push_back(start_.back() + static_cast<std::size_t>(card));
  }
  const auto probability = [](double p) { return p >= 0 && p <= 1; };
  if (start_.back() != marginals.size() ||
      !std::all_of(marginals.begin(), marginals.end(), probability)) {
    throw Error(ErrorKind::kInput, "not {}: its marginals are not those of its variables",
                kWhatModel);
  }
  cards_.assign(cards.begin(), cards.end());
  marginals_.assign(marginals.begin(), marginals.end());
  parameters_ = metadata_json(file, "parameters", kWhatModel);
  about_ = about_of(file);
}

std::span<const double> BeliefModel::marginal(std::int64_t variable) const {
  const auto v = static_cast<std::size_t>(variable);
  return std::span(marginals_).subspan(start_[v], start_[v + 1] - start_[v]);
}

std::int64_t BeliefModel::likeliest(std::int64_t variable) const {
  const auto weights = marginal(variable);
  return std::max_element(weights.begin(), weights.end()) - weights.begin();
}

void BeliefModel::write_answer(const std::string& form,
                               const std::function<void(std::string_view)>& write) const {
  std::string text;
  const auto flush = [&](std::size_t least) {
    if (text.size() < least) return;
    write(text);
    text.clear();
  };
  if (form == "csv") {
    text = "variable,state,probability\n";
    for (std::int64_t v = 0; v < variables(); ++v) {
      const auto weights = marginal(v);
      for (std::size_t k = 0; k < weights.size(); ++k) {
        text += fmt::format("{},{},{}\n", v, k, weights[k]);
      }
      flush(kPieceBytes);
    }
  } else if (form == "MAR") {
    text = fmt::format("MAR\n{}", variables());
    for (std::int64_t v = 0; v < variables(); ++v) {
      text += fmt::format(" {}", marginal(v).size());
      for (const double p : marginal(v)) text += fmt::format(" {}", p);
      flush(kPieceBytes);
    }
    text += "\n";
  } else if (form == "MAP") {
    text = fmt::format("MAP\n{}", variables());
    for (std::int64_t v = 0; v < variables(); ++v) {
      text += fmt::format(" {}", likeliest(v));
      flush(kPieceBytes);
    }
    text += "\n";
  } else {
    return AnswerModel::write_answer(form, write);
  }
  flush(1);
}

Json BeliefModel::describe() const {
  Json json = {{"variables", variables()}, {"states", marginals_.size()}};
  const bool map = base::flag_or(parameters_, "map", false);
  json["answer"] = map ? "most probable state" : "marginals";
  for (const auto& [key, value] : about_.items()) json[key] = value;
  return json;
}

}  // namespace meanwhile::learn::belief
